// SPDX-License-Identifier: BSL-1.0
//
// Assertions that are also active in release builds. They catch bugs of the program (a broken
// precondition, a broken invariant), never bad input and never a result of the kernel: those are
// errors, see error.hpp.
#pragma once

#include <beck/base/platform.hpp>

namespace beck::detail {

/// Prints "file:line: assertion failed: expression: message" to the standard error and aborts.
/// Called by BECK_ASSERT only. Any thread.
[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* file, int line,
                                                             const char* expression,
                                                             const char* message) noexcept;

}  // namespace beck::detail

/// Terminates the program with a message if `condition`, converted to bool, is false. Active in
/// every build. `message` states the caller's mistake or the condition that must hold. Usable in
/// constant expressions.
#define BECK_ASSERT(condition, message) \
  (static_cast<bool>(condition)         \
       ? static_cast<void>(0)           \
       : ::beck::detail::assertion_failed(__FILE__, __LINE__, #condition, message))
