// SPDX-License-Identifier: BSL-1.0
// Waiting for a spin lock. Its holder releases it after a few instructions, unless it was
// preempted; then the waiting thread yields its processor.
#include <beck/run/concurrency.hpp>

#include <sched.h>

#include "base/use_check.hpp"

namespace beck::detail {

void state_lock::lock_shared_state() noexcept {
  // Acquire: pairs with unlock_shared_state(), so that changes made under the lock are visible.
  while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) wait_until_free();
  held_locks::taken();
}

void state_lock::unlock_shared_state() noexcept {
  held_locks::given_back();
  // Release: pairs with the acquiring exchange of the thread that locks next.
  __atomic_store_n(&taken_, false, __ATOMIC_RELEASE);
}

void about_to_call_out() noexcept { held_locks::must_be_none(); }

void state_lock::wait_until_free() const noexcept {
  constexpr int spins = 100;
  // Relaxed: the exchange that takes the lock provides the order.
  for (int spin = 0; spin < spins; ++spin) {
    if (!__atomic_load_n(&taken_, __ATOMIC_RELAXED)) return;
  }
  ::sched_yield();
}

}  // namespace beck::detail
