// SPDX-License-Identifier: BSL-1.0
// The last word on an exception that nobody takes.
#pragma once

#include <exception>

namespace beck {

/// Prints what escaped a detached task, or a handler of a pool, to stderr and calls
/// std::terminate.
[[noreturn]] void terminate_unhandled(std::exception_ptr error) noexcept;

}  // namespace beck
