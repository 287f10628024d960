// SPDX-License-Identifier: BSL-1.0
// An exception that nobody takes is never swallowed.
#include "run/terminate.hpp"

#include <cstdio>

namespace beck {

void terminate_unhandled(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "beck: an exception escaped a detached task or a pool's handler: %s\n",
                 e.what());
  } catch (...) {
    std::fprintf(
        stderr, "beck: an exception of unknown type escaped a detached task or a pool's handler\n");
  }
  std::terminate();
}

}  // namespace beck
