// SPDX-License-Identifier: BSL-1.0
// Ends the program with a message on stderr: after a failed assertion, or after a failed system
// call without which the library cannot continue.
#include "base/fatal_call.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <beck/base/assert.hpp>

// The cold half of BECK_ASSERT. It is out of line, so that a check costs its caller one compare and
// one branch.
namespace beck::detail {

void assertion_failed(const char* file, int line, const char* expression,
                      const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %s\n", file, line, expression, message);
  std::abort();
}

// The end after a refused system call: a message, then abort(3). It allocates nothing, because the
// refused call may be one for memory.

void end_without_call(const char* call, int error) noexcept {
  std::fprintf(stderr, "beck: %s: %s; the program cannot go on without this call\n", call,
               std::strerror(error));
  std::abort();
}

}  // namespace beck::detail
