// SPDX-License-Identifier: BSL-1.0
// The waiting half of latch. The last count_down() does not touch the latch after it has let go of
// its state: who was woken may destroy it.
#include <beck/coro/latch.hpp>

namespace beck {
using namespace detail;

bool latch::wait_access::join(latch& l, waiter& one) noexcept {
  state_guard guard(l.state_);
  if (l.count_ == 0) return true;
  l.waiters_.join(one);
  return false;
}

bool latch::wait_access::leave(latch& l, waiter& one) noexcept {
  state_guard guard(l.state_);
  return l.waiters_.leave(one);
}

void latch::count_down(std::size_t count) noexcept {
  waiter_chain released;
  state_.lock();
  BECK_ASSERT(count <= count_, "a latch was counted down below zero");
  count_ -= count;
  if (count_ == 0) waiters_.take_all(released);
  state_.unlock();
  released.wake_all(0);
}

}  // namespace beck
