// SPDX-License-Identifier: BSL-1.0
// The waiting halves of the two events. set() does not touch the event after it has let go of its
// state: who was woken may destroy it.
#include <beck/coro/event.hpp>

namespace beck {
using namespace detail;

bool manual_reset_event::wait_access::join(manual_reset_event& e, waiter& one) noexcept {
  state_guard guard(e.state_);
  if (e.set_) return true;
  e.waiters_.join(one);
  return false;
}

bool manual_reset_event::wait_access::leave(manual_reset_event& e, waiter& one) noexcept {
  state_guard guard(e.state_);
  return e.waiters_.leave(one);
}

void manual_reset_event::set() noexcept {
  waiter_chain released;
  state_.lock();
  set_ = true;
  waiters_.take_all(released);
  state_.unlock();
  released.wake_all(0);
}

bool auto_reset_event::wait_access::join(auto_reset_event& e, waiter& one) noexcept {
  state_guard guard(e.state_);
  if (std::exchange(e.set_, false)) return true;
  e.waiters_.join(one);
  return false;
}

bool auto_reset_event::wait_access::leave(auto_reset_event& e, waiter& one) noexcept {
  state_guard guard(e.state_);
  return e.waiters_.leave(one);
}

void auto_reset_event::set() noexcept {
  state_.lock();
  waiter* const next = waiters_.pop();
  if (next == nullptr) set_ = true;
  state_.unlock();
  if (next != nullptr) next->wake(0);
}

}  // namespace beck
