// SPDX-License-Identifier: BSL-1.0
// Ends that are no results: a system call whose failure leaves no way on, and a length that no
// container can have.
#pragma once

#include <cstddef>

// The end of a program whose kernel, or a filter in front of it (seccomp), refuses a system call
// that the library cannot go on without: waits and wake-ups, whose failure would otherwise be a
// program that hangs, or that runs in circles.
namespace beck::detail {

/// Prints "beck: call: the error; the program cannot go on without this call" to the standard error
/// and aborts. `error`: an errno value. Any thread.
[[noreturn, gnu::cold, gnu::noinline]] void end_without_call(const char* call, int error) noexcept;

// The one way the growing buffers refuse to grow: an error that names the size asked for and the
// limit.

/// Throws std::length_error: "what: size + more bytes are over the limit of size_max bytes".
[[noreturn, gnu::cold]] void throw_length_error(const char* what, std::size_t size,
                                                std::size_t more, std::size_t size_max);

}  // namespace beck::detail
