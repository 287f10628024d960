// SPDX-License-Identifier: BSL-1.0
//
// The errors that end the tool: one sentence for the user.
#pragma once

#include <string>

#include "common/errno_text.hpp"
#include "common/failure.hpp"

namespace beck_copy {

using beck_apps::errno_text;
using beck_apps::failure;

/// The kernel does not do this mechanism on these two files, and nothing has been copied: another
/// engine may.
class refusal : public failure {
 public:
  using failure::failure;
};

/// Throws a failure for a failed system call, or a refusal if its errno says that the mechanism
/// does not exist here and `copied` is 0.
[[noreturn]] void fail_call(const std::string& call, int error, unsigned long long copied);

}  // namespace beck_copy
