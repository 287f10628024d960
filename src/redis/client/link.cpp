// SPDX-License-Identifier: BSL-1.0
// The calls of a link, their writes, and the ends that come from outside.
#include "redis/client/link.hpp"

#include <new>
#include <utility>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/context_services.hpp>
#include <beck/redis/command_table.hpp>

#include "base/transitions.hpp"
#include "redis/client/lane_pool.hpp"

namespace beck::redis::detail {
namespace {

/// In the order of link_event.
constexpr beck::detail::transition_table<link_state, 7> link_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum link_state;
  return beck::detail::transition_table<link_state, 7>{{
      /* need     */ {connecting, any_of({resting})},
      /* connect  */ {greeting, any_of({connecting})},
      /* be_ready */ {ready, any_of({greeting})},
      /* greet    */ {greeting, any_of({ready})},
      /* lose     */ {connecting, any_of({connecting, greeting, ready})},
      /* rest     */ {resting, any_of({connecting})},
      /* drop     */ {dropped, any_but({resting, dropped})},
  }};
}();

session_limits limits_of(const client_options& how, const any_io_executor& on, bool is_lane,
                         std::int64_t refused_for, bool leaves_replicas) noexcept {
  session_limits limits;
  limits.leaves_replicas = leaves_replicas;
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

link::link(const any_io_executor& executor, server_url to, const client_options& how)
    : link(executor, std::move(to), how, how.hold_timeout.nanoseconds()) {}

link::link(const any_io_executor& executor, server_url to, const client_options& how,
           std::int64_t refused_for)
    : link(executor, std::move(to), how, refused_for, shared<sentinels>(nullptr)) {}

link::link(const any_io_executor& executor, server_url to, const client_options& how,
           std::int64_t refused_for, shared<sentinels> by)
    : sender(executor, how),
      plan_(sender::executor(), bounds(), std::move(to), std::move(by), *this),
      session_(limits_of(bounds(), executor, false, refused_for, plan_.url().must_be_primary),
               &pushes_),
      may_leave_(!plan_.url().must_be_primary && refused_for != 0) {}

link::link(link& home)
    : sender(home.executor(), home.bounds()),
      plan_(home.plan_, bounds(), *this),
      session_(limits_of(bounds(), home.executor(), true, 0, plan_.url().must_be_primary), nullptr),
      lane_(std::make_unique<lane_part>(*this, home)) {}

/// A context that is destroyed destroys the coroutines, and with them the last share.
link::~link() {
  lane_hook_.unlink();
  if (greeting_ && greeting_->is_under_way()) session_.forget(*greeting_);
  clock_.drop(session_);
  if (lane_) lane_->drop(session_);
  pushes_.drop(session_);
}

void link::change(link_event event) noexcept { advance(state_, event, link_transitions); }

client_stats link::stats() const noexcept {
  client_stats now;
  now.waiting = waiting_.get();
  now.in_flight = in_flight_.get();
  now.connections = connections_.get();
  now.writes = writes_.get();
  now.reads = reads_.get();
  now.calls = calls_.get();
  return now;
}

// --- calls

error_code link::check(const arguments& command, bool is_whole) noexcept {
  if (lane_) return lane_->check(command, is_whole);
  return facts_of(command).needs_lane() ? error_code(error::needs_lane) : error_code();
}

error_code link::start(exchange& one) noexcept {
  if (is_closed_) return beck::error::operation_aborted;
  if (session_.queues().waiting() >= bounds().waiting) return error::queue_full;
  if (!is_living() && lane_ && connections_.get() != 0) return last_cause_;
  if (const error_code ec = begin_living(); ec) return ec;
  calls_.add();
  session_.submit(one, now());
  publish_counts();
  flush_soon();
  return {};
}

error_code link::begin_living() noexcept {
  if (is_living()) return {};
  try {
    plan_.join();
    clock_.start();
    co_spawn(executor(), live(life(*this)), detached);
  } catch (const std::bad_alloc&) {
    plan_.leave();
    return no_memory();
  }
  change(link_event::need);  // from here on the end of a `life` drops the calls
  return {};
}

void link::cancel(exchange& one) noexcept {
  if (session_.stop(one, beck::error::operation_aborted)) return lane_->begin_unblocking();
  session_.cancel(one, beck::error::operation_aborted);
  publish_counts();
}

void link::end_waiting() noexcept {
  if (is_ready()) return;
  session_.end_waiting(last_cause_ ? last_cause_ : error_code(beck::error::timeout), INT64_MAX,
                       plan_.last_text());
  publish_counts();
}

void link::end_waiting_before(std::int64_t before) noexcept {
  const error_code why = last_cause_ ? last_cause_ : error_code(beck::error::timeout);
  session_.end_waiting(why, before, plan_.last_text());
  pushes_.router().end_adds(why, before);
  publish_counts();
}

std::int64_t link::wake_at() const noexcept {
  return std::min(session_.queues().wake_at(), pushes_.router().wake_at());
}

// --- writing

/// Adds the commands of the link that are due, before all others.
std::size_t link::gather(part_array& parts) {
  if (is_ready()) {
    const std::int64_t at = beck::detail::loop_time();
    exchange* const tracking = pushes_.tracking_command(greeting_->version());
    if (tracking != nullptr) session_.greet(*tracking, at);
    exchange* const commands = pushes_.router().next_commands();
    if (commands != nullptr) session_.greet(*commands, at);
  }
  return session_.has_output() ? session_.gather(parts) : 0;
}

void link::take_sent(std::size_t bytes) noexcept {
  writes_.add();
  if (bytes != 0 && writer_.is_writing()) clock_.note_written(beck::detail::loop_time());
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
  waiting_.set(session_.queues().waiting());
  in_flight_.set(session_.in_flight());
}

// --- ends from outside

void link::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  if (lanes_) lanes_->close();
  stopping_.request_stop();
  pushes_.router().end_all(beck::error::operation_aborted);
  break_connection(beck::error::operation_aborted);
  clock_.look();
}

/// Drops all that is under way: the context is being destroyed.
void link::drop_all() noexcept {
  is_closed_ = true;
  change(link_event::drop);
  if (lanes_) lanes_->drop_idle();
  session_.drop_all();
  pushes_.router().drop_all();
}

void link::lead_to(const node_address& primary) noexcept {
  if (is_closed_) return;
  const bool is_waiting = is_pausing();
  if (!is_waiting && !plan_.leads_elsewhere(primary)) return;
  plan_.forgive();
  if (is_waiting) {
    plan_.put_off(now());
  } else {
    is_left_ = true;
    break_connection(error::not_primary);
  }
  stopping_.request_stop();
}

/// Ends the connections of lanes that are idle; those in use end when they are returned.
void link::leave_lanes() noexcept {
  ++turn_;
  if (lanes_) lanes_->drop_idle();
}

void link::reconnect() noexcept {
  if (is_closed_) return;
  leave_lanes();
  plan_.forgive();
  if (is_pausing()) {
    plan_.try_at(now());
    stopping_.request_stop();
  } else if (has_stream() && !cause_) {
    is_left_ = true;
    fail_writing(beck::error::operation_aborted);
    if (!is_ready() || session_.is_answered()) break_connection(cause_);
  }
}

// --- the way of a lane back to the pool

lane_pool& link::lanes() {
  if (!lanes_) {
    lanes_ = std::make_unique<lane_pool>(bounds().lanes);
    if (is_closed_) lanes_->close();
  }
  return *lanes_;
}

void link::return_to_pool() noexcept {
  lane_->set_state(lane_state::returned);
  if (begin_again()) return;
  close();
  if (!is_living()) lane_->home().lanes().ended(*this);
}

/// Resets the connection. Returns false if that is impossible, or calls are under way.
bool link::begin_again() noexcept {
  if (!lane_->may_begin_again()) return false;
  clock_.cancel_ping(session_, beck::error::operation_aborted);
  try {
    greeting_ = std::make_unique<handshake>(plan_.url(), greeting_->version(), bounds().name,
                                            handshake::stage::again);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!session_.begin_again()) return false;
  change(link_event::greet);
  clock_.note_written(now());
  session_.greet(*greeting_, now());
  writer_.schedule();
  clock_.look();
  return true;
}

}  // namespace beck::redis::detail
