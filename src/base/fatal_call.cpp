// SPDX-License-Identifier: BSL-1.0
// The cold half of what a refused system call ends with: words, then abort(3). It allocates
// nothing, as memory may be what is refused.
#include "base/fatal_call.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace beck::detail {

void end_without_call(const char* call, int error) noexcept {
  std::fprintf(stderr, "beck: %s: %s; the program cannot go on without this call\n", call,
               std::strerror(error));
  std::abort();
}

}  // namespace beck::detail
