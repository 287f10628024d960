// SPDX-License-Identifier: BSL-1.0
// The task that tends a cluster: it judges the units that have ended, sends what is ready, asks for
// the map, and ends the calls that have waited for too long.
#include "redis/cluster_core.hpp"

#include <algorithm>
#include <limits>

namespace beck::redis::detail {

/// Lets tend() look again.
void cluster_core::wake_up() noexcept {
  is_due_ = true;
  timer_.cancel();
}

/// Sends what is ready, until the cluster is closed.
task<> cluster_core::tend(life self) {
  cluster_core& c = *self;
  while (!c.is_closed_) {
    c.is_due_ = false;
    const std::int64_t next = c.look(beck::detail::loop_time());
    if (c.is_due_ || c.is_closed_) continue;
    c.timer_.expires_at(time_point(duration(next)));
    beck::ignore(co_await c.timer_.async_wait());
  }
  for (cluster_call* call = c.calls_.front(); call != nullptr;) {
    cluster_call* const next = c.calls_.after(*call);
    call->end_unsent(beck::error::operation_aborted, {});
    c.settle(*call);
    call = next;
  }
  c.is_living_ = false;
}

/// Does all that is due. Returns when to look again.
std::int64_t cluster_core::look(std::int64_t now) noexcept {
  while (cluster_call* const call = judged_.pop_front()) {
    judge(*call);
    settle(*call);
  }
  if (now >= wake_at_) {
    while (cluster_call* const call = resting_.pop_front()) {
      for (cluster_step& one : call->steps()) {
        if (one.state == step_state::resting) one.state = step_state::ready;
      }
      if (!call->in_ready.is_linked()) ready_.push_back(*call);
    }
  }
  if (is_map_wanted_ && !is_asking_ && now >= map_from_at_) begin_asking();
  while (cluster_call* const call = map_.is_known() ? ready_.front() : nullptr) {
    route(*call);
    settle(*call);
  }
  std::int64_t next = end_late();
  sweep();
  if (!resting_.empty()) next = std::min(next, wake_at_);
  if (is_map_wanted_ && !is_asking_) next = std::min(next, map_from_at_);
  return next;
}

/// Ends the calls that have waited for a map for too long. Returns when the next one has.
std::int64_t cluster_core::end_late() noexcept {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (cluster_call* call = ready_.front(); call != nullptr;) {
    cluster_call* const behind = ready_.after(*call);
    if (may_rest(*call)) {
      const std::int64_t end = (duration(call->begun_at()) + bounds().hold()).nanoseconds();
      next = std::min(next, end);
    } else {
      call->end_unsent(map_error_ ? map_error_ : error_code(beck::error::timeout), map_error_text_);
      settle(*call);
    }
    call = behind;
  }
  return next;
}

}  // namespace beck::redis::detail
