// SPDX-License-Identifier: BSL-1.0
// The synchronisation primitives. All are lists of waiters; this file decides which waiters a
// change wakes, and how a cancelled wait leaves its list.
#include <beck/coro/channel.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/detail/waiter.hpp>

// A primitive that is destroyed while handlers wait for it destroys them un-run.
namespace beck::detail {

waiter_list::~waiter_list() {
  waiter_chain abandoned;
  take_all(abandoned);
  abandoned.wake_all(waiter::dropped);
}

}  // namespace beck::detail

// The contended half of mutex.
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

// The contended half of semaphore.

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

// The waiting half of latch. The last count_down() does not touch the latch after it has unlocked
// its state: a woken waiter may destroy the latch.

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

// The waiting halves of the two events. set() does not touch the event after it has unlocked its
// state: a woken waiter may destroy the event.

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

// Closing and cancelling channels, for channels of all types.
namespace beck::detail {

void channel_base::close() noexcept {
  waiter_chain closed;
  state_.lock();
  open_ = false;
  senders_.take_all(closed);
  receivers_.take_all(closed);
  state_.unlock();
  closed.wake_all(channel_closed_result);
}

void channel_base::cancel() noexcept {
  waiter_chain ended;
  state_.lock();
  senders_.take_all(ended);
  receivers_.take_all(ended);
  state_.unlock();
  ended.wake_all(-error::operation_aborted);
}

bool channel_base::is_open() noexcept {
  state_guard guard(state_);
  return open_;
}

bool channel_base::leave_receivers(waiter& one) noexcept {
  state_guard guard(state_);
  return receivers_.leave(one);
}

}  // namespace beck::detail
