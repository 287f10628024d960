// SPDX-License-Identifier: BSL-1.0
// Waiting for a spin lock: its holder is a few instructions from its end, unless the scheduler has
// taken its processor away; then this thread gives its own up.
#include <beck/run/concurrency.hpp>

#include <sched.h>

#include "base/use_check.hpp"

namespace beck::detail {

void state_lock::lock_shared_state() noexcept {
  // Acquire: sees what was done under the lock before; pairs with unlock_shared_state().
  while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) wait_until_free();
  held_locks::taken();
}

void state_lock::unlock_shared_state() noexcept {
  held_locks::given_back();
  // Release: pairs with the acquiring exchange of whoever locks next.
  __atomic_store_n(&taken_, false, __ATOMIC_RELEASE);
}

void about_to_call_out() noexcept { held_locks::must_be_none(); }

void state_lock::wait_until_free() const noexcept {
  constexpr int spins = 100;
  // Relaxed: the exchange that takes the lock orders.
  for (int spin = 0; spin < spins; ++spin) {
    if (!__atomic_load_n(&taken_, __ATOMIC_RELAXED)) return;
  }
  ::sched_yield();
}

}  // namespace beck::detail
