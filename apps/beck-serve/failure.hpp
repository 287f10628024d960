// SPDX-License-Identifier: BSL-1.0
//
// The errors that end the tool: one sentence for the user.
#pragma once

#include <stdexcept>

#include "common/errno_text.hpp"

namespace beck_serve {

/// The server cannot begin. what() is the sentence.
class failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option or its value is wrong. what() is the sentence.
class wrong_usage : public failure {
 public:
  using failure::failure;
};

using beck_apps::errno_text;

}  // namespace beck_serve
