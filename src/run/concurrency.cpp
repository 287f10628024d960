// SPDX-License-Identifier: BSL-1.0
// Waiting for a spin lock: its holder is a few instructions from its end, unless the scheduler has
// taken its processor away; then this thread gives its own up.
#include <beck/run/concurrency.hpp>

#include <sched.h>

namespace beck {

void state_lock::wait_until_free() const noexcept {
  constexpr int spins = 100;
  // Relaxed: the exchange that takes the lock orders.
  for (int spin = 0; spin < spins; ++spin) {
    if (!__atomic_load_n(&taken_, __ATOMIC_RELAXED)) return;
  }
  ::sched_yield();
}

}  // namespace beck
