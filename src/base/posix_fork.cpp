// SPDX-License-Identifier: BSL-1.0
// Counts forks through pthread_atfork(3).
#include <pthread.h>

#include "base/fork_count.hpp"

namespace beck::detail {

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  static_cast<void>(::pthread_atfork(before, in_parent, in_child));
}

unsigned fork_count() noexcept {
  [[maybe_unused]] static const bool watching =
      (at_fork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); }),
       true);
  return known_fork_count();
}

}  // namespace beck::detail
