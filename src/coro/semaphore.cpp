// SPDX-License-Identifier: BSL-1.0
// The contended half of semaphore.
#include <beck/coro/semaphore.hpp>

namespace beck {
using namespace detail;

bool semaphore::acquire_access::join(semaphore& s, waiter& one) noexcept {
  state_guard guard(s.state_);
  if (s.permits_ != 0) {
    --s.permits_;
    return true;
  }
  s.waiters_.join(one);
  return false;
}

bool semaphore::acquire_access::leave(semaphore& s, waiter& one) noexcept {
  state_guard guard(s.state_);
  return s.waiters_.leave(one);
}

void semaphore::hand_over(std::size_t permits) noexcept {
  waiter_chain served;
  for (; permits != 0; --permits) {
    waiter* const next = waiters_.pop();
    if (next == nullptr) break;
    served.push(*next);
  }
  permits_ += permits;
  state_.unlock();
  served.wake_all(0);
}

}  // namespace beck
