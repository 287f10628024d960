// SPDX-License-Identifier: BSL-1.0
//
// The errors that end a tool: one sentence for the user.
#pragma once

#include <stdexcept>

namespace beck_apps {

/// The tool cannot do its work. what() is the sentence.
class failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option or its value is wrong. what() is the sentence.
class wrong_usage : public failure {
 public:
  using failure::failure;
};

}  // namespace beck_apps
