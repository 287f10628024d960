// SPDX-License-Identifier: BSL-1.0
// Writing and watching the time. The first command of a turn posts an entry behind all that is
// runnable; the commands that have gathered by then leave with one write.
#include <algorithm>
#include <new>

#include "redis/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration late_by(100'000'000);  // this process was stopped meanwhile

/// Returns `at` + `time`, or the end of time: limits may be duration::max().
std::int64_t later(std::int64_t at, duration time) noexcept {
  return (duration(at) + time).nanoseconds();
}

}  // namespace

// --- writing

/// Adds the commands of the link that are due, before all others.
std::size_t link::gather(part_array& parts) {
  if (is_ready_ && needs_tracking()) {
    tracking_ = std::make_unique<own_command>("CLIENT", "TRACKING", "ON", "OPTIN");
    session_.greet(*tracking_, beck::detail::loop_time());
  }
  exchange* const commands = is_ready_ ? router_.next_commands() : nullptr;
  if (commands != nullptr) session_.greet(*commands, beck::detail::loop_time());
  return session_.has_output() ? session_.gather(parts) : 0;
}

void link::take_sent(std::size_t bytes) noexcept {
  writes_.add();
  if (bytes != 0 && writer_.is_writing()) wrote_at_ = beck::detail::loop_time();
  session_.wrote(bytes);
  publish_counts();
}

void link::take_write_error(const error_code& why) noexcept {
  if (why == beck::error::no_memory) {
    break_connection(no_memory());
  } else {
    fail_writing(why);
  }
}

/// Publishes the numbers of now.
void link::publish_counts() noexcept {
  waiting_.set(session_.waiting());
  in_flight_.set(session_.in_flight());
}

// --- time

task<> link::watch(link_ref self) {
  link& l = *self;
  l.due_ = 0;
  while (l.is_living_) {
    l.due_ = l.tend(beck::detail::loop_time());
    l.timer_.expires_at(time_point(duration(l.due_)));
    beck::ignore(co_await l.timer_.async_wait());
  }
  l.is_watching_ = false;
}

/// Sends PINGs and ends calls and connections whose time is over. Returns when to look again.
std::int64_t link::tend(std::int64_t now) noexcept {
  was_late_ = !was_late_ && due_ != 0 && now > later(due_, late_by);
  if (was_late_) return later(now, late_by);  // first receive the bytes that have come meanwhile
  std::int64_t next = later(now, bounds().hold());
  if (!is_ready_) {
    const std::int64_t before = (duration(now + 1) - bounds().hold()).nanoseconds();
    const error_code why = last_cause_ ? last_cause_ : error_code(beck::error::timeout);
    session_.end_waiting(why, before, last_text_);
    router_.end_adds(why, before);
    publish_counts();
    std::int64_t since = router_.adding_since();
    if (session_.is_waiting()) since = std::min(since, session_.waiting_since());
    next = std::min(next, later(since, bounds().hold()));
  }
  if (!stream_) return next;
  const std::int64_t idle = state_ == lane_state::idle ? idle_until_ : INT64_MAX;
  if (now >= idle) {
    break_connection(beck::error::operation_aborted);
    return next;
  }
  if (session_.is_muted() && !writer_.is_writing())
    wrote_at_ = now;  // a silence that was asked for
  const std::int64_t alive_at =
      std::max({session_.heard_at(), wrote_at_, session_.blocked_until()});
  const std::int64_t quiet = later(alive_at, bounds().ping());
  const std::int64_t dead = later(alive_at, bounds().silence());
  if (now >= dead) {
    break_connection(error::server_silent);
    return next;
  }
  if (!is_ready_) return std::min(next, dead);
  session_.wake(now);
  router_.wake(now);
  if (session_.has_output() || router_.has_commands()) flush_soon();
  if (now < quiet) return std::min({quiet, idle, wake_at()});
  if (!ping_ || !ping_->is_under_way()) send_ping(now);
  const std::int64_t again = later(now, bounds().ping());
  return std::min({again, dead, idle, wake_at()});
}

/// Returns when commands that the server has refused for now are due.
std::int64_t link::wake_at() const noexcept {
  return std::min(session_.wake_at(), router_.wake_at());
}

void link::send_ping(std::int64_t now) noexcept {
  try {
    ping_ = std::make_unique<own_command>("PING");
  } catch (const std::bad_alloc&) {
    return;  // the end of the silence comes without it
  }
  session_.trim();
  session_.submit(*ping_, now);
  flush_soon();
}

}  // namespace beck::redis::detail
