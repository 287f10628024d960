// SPDX-License-Identifier: BSL-1.0
// Failures that are not reported as results. A failed system call without which the library cannot
// continue ends the program; a length above a container's limit is an exception.
#pragma once

#include <cstddef>

// The end of a program if the kernel, or a filter in front of it (seccomp), refuses a system call
// without which the library cannot continue: a wait or a wake-up. Otherwise the program would hang,
// or loop without end.
namespace beck::detail {

/// Prints "beck: `call`: the error; the program cannot go on without this call" to the standard
/// error and aborts. `error` is an errno value. Thread: any.
[[noreturn, gnu::cold, gnu::noinline]] void end_without_call(const char* call, int error) noexcept;

// The growing buffers refuse to grow with an error that names the requested size and the limit.

/// Throws std::length_error: "`what`: `size` + `more` bytes are over the limit of `size_max`
/// bytes".
[[noreturn, gnu::cold]] void throw_length_error(const char* what, std::size_t size,
                                                std::size_t more, std::size_t size_max);

}  // namespace beck::detail
