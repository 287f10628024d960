// SPDX-License-Identifier: BSL-1.0
// One coroutine sleeps until the first time that is due, and looks at all of them.
#include "redis/client/link_clock.hpp"

#include <algorithm>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration late_by(100'000'000);  // this process was stopped meanwhile

/// Returns `at` + `time`, or the end of time: limits may be duration::max().
std::int64_t later(std::int64_t at, duration time) noexcept {
  return (duration(at) + time).nanoseconds();
}

}  // namespace

link_clock::link_clock(link& of) : link_(of), timer_(of.executor()) {}

void link_clock::start() {
  if (!is_watching_) co_spawn(link_.executor(), watch(link_ref(link_)), detached);
  is_watching_ = true;
}

task<> link_clock::watch(link_ref self) {
  link_clock& c = self->clock();
  c.due_ = 0;
  while (self->is_living()) {
    c.due_ = c.tend(beck::detail::loop_time());
    c.timer_.expires_at(time_point(duration(c.due_)));
    beck::ignore(co_await c.timer_.async_wait());
  }
  c.is_watching_ = false;
}

void link_clock::look_after_input(std::int64_t now) noexcept {
  if (std::min(wake_at(), later(now, link_.bounds().ping_interval)) < due_) look();
}

/// Returns when commands that the server has refused for now are due.
std::int64_t link_clock::wake_at() const noexcept {
  return std::min(link_.work().queues().wake_at(), link_.pushes().router().wake_at());
}

/// Ends calls and connections whose time is over, and sends PINGs. Returns when to look again.
std::int64_t link_clock::tend(std::int64_t now) noexcept {
  was_late_ = !was_late_ && due_ != 0 && now > later(due_, late_by);
  if (was_late_) return later(now, late_by);  // first receive the bytes that have come meanwhile
  const client_options& bounds = link_.bounds();
  link_connection& connection = link_.connection();
  std::int64_t next = later(now, bounds.hold_timeout);
  if (!connection.is_ready()) next = std::min(next, tend_waiting(now));
  if (!connection.is_open()) return next;
  if (now >= idle_until()) {
    connection.break_off(beck::error::operation_aborted);
    return next;
  }
  session& work = link_.work();
  if (work.writer().is_muted() && !connection.is_writing())
    wrote_at_ = now;  // a silence that was asked for
  const std::int64_t heard_at = work.reader().heard_at();
  const std::int64_t alive_at = std::max({heard_at, wrote_at_, work.blocking().until(heard_at)});
  const std::int64_t dead = later(alive_at, bounds.silence_timeout);
  if (now >= dead) {
    connection.break_off(error::server_silent);
    return next;
  }
  return connection.is_ready() ? std::min(dead, tend_ready(now, alive_at)) : std::min(next, dead);
}

/// Returns when an idle connection ends.
std::int64_t link_clock::idle_until() const noexcept {
  const lane_part* const lane = link_.lane();
  return lane != nullptr ? lane->idle_until() : INT64_MAX;
}

/// Ends the calls that have waited too long for a connection. Returns when the next one has.
std::int64_t link_clock::tend_waiting(std::int64_t now) noexcept {
  session& work = link_.work();
  push_router& router = link_.pushes().router();
  const duration hold = link_.bounds().hold_timeout;
  const std::int64_t before = (duration(now + 1) - hold).nanoseconds();
  link_.end_waiting(before);
  return later(std::min(router.adding_since(), work.queues().waiting_since()), hold);
}

/// Sends what is due, and a PING to a server that was silent for long. Returns when to look again.
std::int64_t link_clock::tend_ready(std::int64_t now, std::int64_t alive_at) noexcept {
  link_.work().queues().wake(now);
  link_.pushes().router().wake(now);
  link_.connection().flush_soon();
  const duration period = link_.bounds().ping_interval;
  std::int64_t next = later(alive_at, period);
  if (now >= next) {
    if (!ping_ || !ping_->is_under_way()) send_ping(now);
    next = later(now, period);
  }
  return std::min({next, idle_until(), wake_at()});
}

void link_clock::send_ping(std::int64_t now) noexcept {
  BECK_ASSERT(!ping_ || !ping_->is_under_way(), "a PING is sent before the last one is answered");
  try {
    ping_ = std::make_unique<own_command>("PING");
  } catch (const std::bad_alloc&) {
    return;  // the end of the silence comes without it
  }
  link_.work().trim();
  link_.work().queues().submit(*ping_, now);
  link_.connection().flush_soon();
}

}  // namespace beck::redis::detail
