// SPDX-License-Identifier: BSL-1.0
// The calls of a link, how it makes one connection after the other, and the ends from outside.
#include "redis/client/link.hpp"

#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/context_services.hpp>
#include <beck/redis/command_table.hpp>

#include "base/transitions.hpp"
#include "redis/client/lane_pool.hpp"

namespace beck::redis::detail {
namespace {

/// In the order of link_event.
constexpr beck::detail::transition_table<link_state, 3> link_transitions = [] {
  using beck::detail::any_of;
  using enum link_state;
  return beck::detail::transition_table<link_state, 3>{{
      /* need */ {living, any_of({resting})},
      /* rest */ {resting, any_of({living})},
      /* drop */ {dropped, any_of({living})},
  }};
}();

session_limits limits_of(const client_options& how, const any_io_executor& on, bool is_lane,
                         std::int64_t refused_for) noexcept {
  session_limits limits;
  limits.is_lane = is_lane;
  limits.in_flight = how.in_flight;
  limits.attempts = how.attempts;
  limits.refused_for = refused_for;
  limits.replies = how.parsing;
  limits.guard = is_lane ? 0 : how.guard_commands;
  if (limits.guard != 0) limits.guard_seed = random_of(on);
  return limits;
}

}  // namespace

std::int64_t time_of(const any_io_executor& executor) noexcept {
  return beck::now(executor).nanoseconds();
}

std::uint64_t random_of(const any_io_executor& executor) noexcept {
  std::uint64_t random = 0;
  random_bytes(executor, buffer(&random, sizeof random));
  return random;
}

link::link(const any_io_executor& executor, server_url to, const client_options& how,
           std::int64_t refused_for, shared<sentinels> by)
    : sender(executor, how),
      plan_(sender::executor(), bounds(), std::move(to), std::move(by), *this, refused_for != 0),
      session_(limits_of(bounds(), executor, false, refused_for), &pushes_),
      lanes_(std::make_unique<lane_pool>(bounds().lanes)),
      connection_(*this, hello_state::usual) {}

link::link(link& home)
    : sender(home.executor(), home.bounds()),
      plan_(home.plan_, bounds(), *this),
      session_(limits_of(bounds(), home.executor(), true, 0), nullptr),
      lane_(std::make_unique<lane_part>(*this, home)),
      connection_(*this, home.connection_.greeting().known()) {}

/// A context that is destroyed destroys the coroutines, and with them the last share.
link::~link() {
  BECK_ASSERT(state_ != link_state::living, "a link is destroyed that makes connections");
  connection_.greeting().drop(session_);
  clock_.drop(session_);
  if (lane_) lane_->drop(session_);
  pushes_.drop(session_);
}

// --- calls

error_code link::check(const arguments& command, bool is_whole) noexcept {
  if (lane_) return lane_->check(command, is_whole);
  return facts_of(command).needs_lane() ? error_code(error::needs_lane) : error_code();
}

error_code link::start(exchange& one) noexcept {
  if (is_closed_) return beck::error::operation_aborted;
  if (session_.queues().waiting() >= bounds().waiting) return error::queue_full;
  if (!is_living() && lane_ && counters_.has_connected()) return plan_.last_cause();
  if (const error_code ec = begin_living(); ec) return ec;
  counters_.note_call();
  session_.queues().submit(one, time_of(executor()));
  counters_.publish(session_);
  connection_.flush_soon();
  return {};
}

void link::cancel(exchange& one) noexcept {
  if (session_.stop(one, beck::error::operation_aborted)) return lane_->begin_unblocking();
  session_.cancel(one, beck::error::operation_aborted);
  counters_.publish(session_);
}

void link::end_waiting(std::int64_t before) noexcept {
  BECK_ASSERT(!connection_.is_ready(), "calls that wait are ended beside a connection");
  session_.end_waiting(plan_.last_cause(), before, plan_.last_text());
  pushes_.router().end_adds(plan_.last_cause(), before);
  counters_.publish(session_);
}

// --- connections

error_code link::begin_living() noexcept {
  if (is_living()) return {};
  BECK_ASSERT(!is_closed_, "a link that is closed makes a connection");
  try {
    plan_.join();
    clock_.start();
    co_spawn(executor(), live(life(*this)), detached);
  } catch (const std::bad_alloc&) {
    plan_.leave();
    return no_memory();
  }
  advance(state_, link_event::need, link_transitions);  // from here on the end of a `life` drops
  return {};
}

/// Makes connections as long as calls or subscriptions wait for one, and for a lane only one.
task<> link::live(life self) {
  link& l = *self;
  while (!l.is_closed_ && (l.session_.queues().is_waiting() || l.pushes_.router().is_wanted())) {
    error_code ec;
    try {
      if (l.plan_.is_pausing()) {
        co_await l.plan_.pause();
        continue;
      }
      l.connection_.begin();
      auto opening = l.plan_.open();
      auto opened = co_await std::move(opening);
      ec = opened.error();
      if (!ec) {
        auto serving = l.connection_.serve(std::move(opened).value());
        ec = co_await std::move(serving);
      }
    } catch (const std::bad_alloc&) {  // for one of them
      ec = no_memory();
    }
    const bool was_ready = l.connection_.stop(ec);
    l.plan_.end_attempt(l.connection_.cause());
    while (l.connection_.is_writing()) beck::ignore(co_await l.connection_.wait_until_written());
    l.connection_.end(was_ready);
    const bool is_last = l.lane_ && l.counters_.has_connected();
    const bool fails_fast = l.bounds().fails_fast && !l.connection_.is_left();
    if (l.plan_.was_refused() || fails_fast || is_last) l.end_waiting(INT64_MAX);
    l.counters_.publish(l.session_);
    l.clock_.look();  // it begins to look at those that wait
    l.plan_.put_off();
  }
  if (l.is_closed_) l.session_.end_waiting(beck::error::operation_aborted, INT64_MAX);
  l.counters_.publish(l.session_);
  advance(l.state_, link_event::rest, link_transitions);
  l.plan_.leave();
  l.clock_.look();
  if (l.lane_) l.lane_->end();
}

void link::reconnect() noexcept {
  if (is_closed_) return;
  lanes_->leave();
  plan_.forgive();
  if (plan_.is_pausing()) return plan_.hurry();
  if (!connection_.is_open() || connection_.cause()) return;
  connection_.leave(beck::error::operation_aborted);
  if (!connection_.is_ready() || session_.writer().is_answered())
    connection_.break_off(beck::error::operation_aborted);
}

void link::lead_to(const node_address& primary) noexcept {
  if (is_closed_) return;
  const bool is_pausing = plan_.is_pausing();
  if (!is_pausing && !plan_.leads_elsewhere(primary)) return;
  plan_.forgive();
  if (is_pausing) {
    plan_.put_off();
  } else {
    connection_.leave(error::not_primary);
    connection_.break_off(error::not_primary);
  }
  plan_.stop();
}

// --- ends from outside

void link::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  if (lanes_) lanes_->close();
  plan_.stop();
  pushes_.router().end_all(beck::error::operation_aborted);
  connection_.break_off(beck::error::operation_aborted);
  clock_.look();
}

/// Drops all that is under way: the context is being destroyed.
void link::drop_all() noexcept {
  is_closed_ = true;
  advance(state_, link_event::drop, link_transitions);
  connection_.lose();
  if (lanes_) lanes_->drop_idle();
  session_.drop_all();
  pushes_.router().drop_all();
}

}  // namespace beck::redis::detail
