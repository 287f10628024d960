// SPDX-License-Identifier: BSL-1.0
// An exception that nobody takes is never swallowed.
#include "run/terminate.hpp"

#include <cstdio>
#include <utility>

namespace beck::detail {

void terminate_unhandled(std::exception_ptr error,
                         const std::source_location* spawned_at) noexcept {
  if (spawned_at == nullptr || spawned_at->line() == 0) {
    std::fprintf(stderr, "beck: an exception escaped a detached task or a pool's handler: ");
  } else {
    std::fprintf(stderr, "beck: an exception escaped a detached task, spawned at %s:%u: ",
                 spawned_at->file_name(), static_cast<unsigned>(spawned_at->line()));
  }
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "of unknown type\n");
  }
  std::terminate();
}

}  // namespace beck::detail
