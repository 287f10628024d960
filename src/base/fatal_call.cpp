// SPDX-License-Identifier: BSL-1.0
// The program ends with a message on stderr: an assertion that does not hold, or a system call
// whose failure leaves no way on.
#include "base/fatal_call.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <beck/base/assert.hpp>

// The cold half of BECK_ASSERT: out of line, so that a check costs its callers one compare and one
// branch.
namespace beck::detail {

void assertion_failed(const char* file, int line, const char* expression,
                      const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %s\n", file, line, expression, message);
  std::abort();
}

// The cold half of what a refused system call ends with: words, then abort(3). It allocates
// nothing, as memory may be what is refused.

void end_without_call(const char* call, int error) noexcept {
  std::fprintf(stderr, "beck: %s: %s; the program cannot go on without this call\n", call,
               std::strerror(error));
  std::abort();
}

}  // namespace beck::detail
