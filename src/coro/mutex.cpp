// SPDX-License-Identifier: BSL-1.0
// The contended half of mutex.
#include <beck/coro/mutex.hpp>

namespace beck {
using namespace detail;

bool mutex::lock_access::join(mutex& m, waiter& one) noexcept {
  state_guard guard(m.state_);
  if (!std::exchange(m.locked_, true)) return true;
  m.waiters_.join(one);
  return false;
}

bool mutex::lock_access::leave(mutex& m, waiter& one) noexcept {
  state_guard guard(m.state_);
  return m.waiters_.leave(one);
}

void mutex::hand_over() noexcept {
  waiter* const next = waiters_.pop();
  state_.unlock();
  next->wake(0);
}

}  // namespace beck
