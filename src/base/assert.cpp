// SPDX-License-Identifier: BSL-1.0
//
// The cold half of BECK_ASSERT: out of line, so that a check costs its callers one compare and one
// branch.
#include <beck/base/assert.hpp>
#include <cstdio>
#include <cstdlib>

namespace beck::detail {

void assertion_failed(const char* file, int line, const char* expression,
                      const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %s\n", file, line, expression, message);
  std::abort();
}

}  // namespace beck::detail
