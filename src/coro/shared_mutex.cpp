// SPDX-License-Identifier: BSL-1.0
// The order of entry to a shared_mutex: the oldest waiter is admitted next; if it is a reader, the
// readers directly behind it are admitted with it.
#include <beck/coro/shared_mutex.hpp>

namespace beck {
using namespace detail;

bool shared_mutex::try_enter(bool shared) noexcept {
  if (writing_ || (!shared && readers_ != 0)) return false;
  if (shared) {
    ++readers_;
  } else {
    writing_ = true;
  }
  return true;
}

/// Moves the waiters that may enter now, oldest first, to `admitted`. Requires the lock.
void shared_mutex::admit(waiter_chain& admitted) noexcept {
  while (waiter* const next = waiters_.front()) {
    if (!try_enter(next->wants_to_share())) return;
    admitted.push(*waiters_.pop());
  }
}

bool shared_mutex::join(waiter& one, bool shared) noexcept {
  state_guard guard(state_);
  if (waiters_.empty() && try_enter(shared)) return true;
  one.want_to_share(shared);
  waiters_.join(one);
  return false;
}

bool shared_mutex::leave(waiter& one) noexcept {
  waiter_chain admitted;
  state_.lock();
  const bool left = waiters_.leave(one);
  if (left) admit(admitted);
  state_.unlock();
  admitted.wake_all(0);
  return left;
}

void shared_mutex::unlock() noexcept {
  waiter_chain admitted;
  state_.lock();
  BECK_ASSERT(writing_, "a shared_mutex was unlocked that is not locked for writing");
  writing_ = false;
  admit(admitted);
  state_.unlock();
  admitted.wake_all(0);
}

void shared_mutex::unlock_shared() noexcept {
  waiter_chain admitted;
  state_.lock();
  BECK_ASSERT(readers_ != 0, "a shared_mutex was unlocked that is not locked for reading");
  --readers_;
  admit(admitted);
  state_.unlock();
  admitted.wake_all(0);
}

}  // namespace beck
