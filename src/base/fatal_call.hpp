// SPDX-License-Identifier: BSL-1.0
// The end of a program whose kernel, or a filter in front of it (seccomp), refuses a system call
// that the library cannot go on without: waits and wake-ups, whose failure would otherwise be a
// program that hangs, or that runs in circles.
#pragma once

namespace beck::detail {

/// Prints "beck: call: the error; the program cannot go on without this call" to the standard error
/// and aborts. `error`: an errno value. Any thread.
[[noreturn, gnu::cold, gnu::noinline]] void end_without_call(const char* call, int error) noexcept;

}  // namespace beck::detail
