// SPDX-License-Identifier: BSL-1.0
// The two stages of a wait: for the notification, then for the mutex. Each has its own list entry,
// because a cancellation may look at the entry of the first stage while another thread puts that of
// the second stage into its list.
#include <beck/coro/condition_variable.hpp>

namespace beck {
using namespace detail;

condition_waiter::~condition_waiter() {
  if (is_listed()) {
    state_guard guard(condition_->state_);
    condition_->waiters_.leave(*this);
  } else if (lock_.is_listed()) {
    mutex::lock_access::leave(*mutex_, lock_);
  }
}

void condition_waiter::start(locked_function locked, dropped_function gone) noexcept {
  locked_ = locked;
  dropped_ = gone;
  result_ = 0;
  on_wake(&end_condition_stage);
  mutex* const held = mutex_;
  {
    state_guard guard(condition_->state_);
    condition_->waiters_.join(*this);
  }
  held->unlock();
}

bool condition_waiter::stop() noexcept {
  if (condition_ == nullptr) return false;
  {
    state_guard guard(condition_->state_);
    if (!condition_->waiters_.leave(*this)) return false;
  }
  end_condition_stage(*this, cancelled);
  return true;
}

void condition_waiter::end_condition_stage(waiter& one, int result) noexcept {
  auto& self = static_cast<condition_waiter&>(one);
  if (result == dropped) return self.give_up();
  self.result_ = result;
  self.relock();
}

void condition_waiter::relock() noexcept {
  if (mutex::lock_access::join(*mutex_, lock_)) locked_(*this, result_);
}

void condition_waiter::end_lock_stage(waiter& one, int result) noexcept {
  condition_waiter& self = static_cast<lock_stage&>(one).owner();
  if (result == dropped) return self.give_up();
  self.locked_(self, self.result_);
}

void condition_waiter::give_up() noexcept {
  condition_ = nullptr;
  dropped_(*this);
}

void condition_wait::initiate(handler done) noexcept {
  done_ = static_cast<handler&&>(done);
  start(&end, &drop);
}

void condition_wait::end(condition_waiter& one, int result) noexcept {
  handler done(static_cast<handler&&>(static_cast<condition_wait&>(one).done_));
  done(make_error(result));
}

void condition_wait::drop(condition_waiter& one) noexcept {
  handler gone(static_cast<handler&&>(static_cast<condition_wait&>(one).done_));
}

void condition_variable::notify_one() noexcept {
  state_.lock();
  waiter* const next = waiters_.pop();
  state_.unlock();
  if (next != nullptr) next->wake(0);
}

void condition_variable::notify_all() noexcept {
  waiter_chain notified;
  state_.lock();
  waiters_.take_all(notified);
  state_.unlock();
  notified.wake_all(0);
}

}  // namespace beck
