// SPDX-License-Identifier: BSL-1.0
// What channels of all types share: how they end.
#include <beck/coro/channel.hpp>

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
