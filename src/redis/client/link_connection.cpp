// SPDX-License-Identifier: BSL-1.0
// How a connection is greeted, written to, received from, left, and lost.
#include "redis/client/link_connection.hpp"

#include <new>
#include <utility>

#include <beck/base/assert.hpp>

#include "base/transitions.hpp"
#include "redis/client/lane_pool.hpp"
#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

/// In the order of connection_event.
constexpr beck::detail::transition_table<connection_state, 4> link_connection_transitions = [] {
  using beck::detail::any_of;
  using enum connection_state;
  return beck::detail::transition_table<connection_state, 4>{{
      /* connect  */ {greeting, any_of({none})},
      /* be_ready */ {ready, any_of({greeting})},
      /* greet    */ {greeting, any_of({ready})},
      /* lose     */ {none, any_of({greeting, ready})},
  }};
}();

}  // namespace

client_stats link_counters::read() const noexcept {
  client_stats now;
  now.waiting = waiting_.get();
  now.in_flight = in_flight_.get();
  now.connections = connections_.get();
  now.writes = writes_.get();
  now.reads = reads_.get();
  now.calls = calls_.get();
  return now;
}

void link_connection::change(connection_event event) noexcept {
  advance(state_, event, link_connection_transitions);
}

// --- the course

void link_connection::begin() noexcept {
  BECK_ASSERT(!is_open() && !stream_, "a connection begins before the last one has ended");
  cause_ = error_code();
  is_left_ = false;
}

task<error_code> link_connection::serve(owned_stream over) {
  stream_ = std::move(over);
  if (lane_part* const lane = link_.lane()) lane->keep_alive(*stream_);
  error_code ec = cause_;  // the client was closed, or the primary is another one meanwhile
  if (ec) co_return ec;
  try {
    change(connection_event::connect);
    link_.work().connected(beck::detail::loop_time());
    greeting_.begin();
    writer_.start(link_.executor(), *stream_);
    writer_.flush();
    link_.clock().look();
    while (!ec) {
      auto got = co_await stream_->receive();
      link_.counters().note_read();
      ec = got.error();
      if (!ec) ec = take(std::move(got).value());
    }
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  co_return ec;
}

/// Takes received bytes. Returns why the connection ends here. Throws std::bad_alloc.
error_code link_connection::take(const buffer_lease& received) {
  const std::int64_t now = beck::detail::loop_time();
  connect_plan& plan = link_.plan();
  session& work = link_.work();
  push_router& router = link_.pushes().router();
  router.set_time(now);
  work.leave_replicas(is_left_ || plan.leaves_replicas(now));
  error_code ec = work.reader().received({received.data(), received.size()}, now);
  if (!ec && !is_ready()) ec = end_greeting();
  if (work.reader().is_at_replica() && !cause_) {
    plan.note_replica(now);
    if (lane_pool* const lanes = link_.lanes()) lanes->leave();
    leave(error::readonly);
  }
  const bool is_to_end = is_left_ || work.reader().is_at_replica();
  if (!ec && is_to_end && work.writer().is_answered()) ec = cause_;
  if (is_ready() && router.is_done()) plan.forgive();
  link_.counters().publish(work);
  if (!ec && (work.writer().has_output() || router.has_commands())) writer_.schedule();
  if (lane_part* const lane = link_.lane()) lane->note_answer();
  link_.clock().look_after_input(now);
  return ec;
}

/// Looks whether the server has answered the greeting. Returns an error if it has refused.
error_code link_connection::end_greeting() {
  const error_code refusal = greeting_.take_answers();
  if (refusal || !greeting_.is_done()) return refusal;
  lane_part* const lane = link_.lane();
  const bool was_reset = lane != nullptr && lane->state() == lane_state::returned;
  if (was_reset && lane->is_outdated()) return beck::error::operation_aborted;
  change(connection_event::be_ready);
  link_.work().queues().open();
  link_.clock().look();  // it begins to send PINGs
  if (!was_reset) link_.counters().note_connection();
  if (was_reset) lane->put_back();
  return {};
}

bool link_connection::stop(const error_code& why) noexcept {
  const bool was_ready = is_ready();
  lose();
  break_off(why);
  return was_ready;
}

void link_connection::end(bool was_ready) noexcept {
  BECK_ASSERT(!is_open() && !is_writing(), "a connection ends that is in use");
  stream_ = owned_stream();
  const std::int64_t now = beck::detail::loop_time();
  session& work = link_.work();
  push_router& router = link_.pushes().router();
  link_.clock().cancel_ping(work, cause_);
  if (lane_part* const lane = link_.lane()) lane->end_connection();
  work.lost(cause_, now);
  router.lost(now, was_ready, cause_, link_.bounds().attempts);
  greeting_.end(was_ready, cause_);
  link_.pushes().end_connection();
}

void link_connection::lose() noexcept {
  if (is_open()) change(connection_event::lose);
}

// --- its use

/// Sends no more on this connection. Replies that are on their way are still received, up to the
/// end that follows such an error, or to silence_timeout.
void link_connection::fail_writing(const error_code& why) noexcept {
  BECK_ASSERT(static_cast<bool>(why), "a connection ends without a reason");
  if (!cause_) cause_ = why;
  writer_.stop();
}

void link_connection::break_off(const error_code& why) noexcept {
  fail_writing(why);
  link_.pushes().empty_caches();
  if (stream_) stream_->close();
}

void link_connection::leave(const error_code& why) noexcept {
  is_left_ = true;
  fail_writing(why);
}

bool link_connection::begin_again() noexcept {
  if (!is_usable()) return false;
  link_.clock().cancel_ping(link_.work(), beck::error::operation_aborted);
  if (!link_.work().begin_again()) return false;
  try {
    greeting_.begin_again();
  } catch (const std::bad_alloc&) {
    return false;
  }
  change(connection_event::greet);
  link_.clock().note_written(time_of(link_.executor()));
  writer_.schedule();
  link_.clock().look();
  return true;
}

// --- writing

/// Adds the commands of the link that are due, before all others.
std::size_t link_connection::gather(part_array& parts) {
  session& work = link_.work();
  const std::int64_t now = beck::detail::loop_time();
  if (is_ready()) {
    push_hub& pushes = link_.pushes();
    exchange* const tracking = pushes.tracking_command(greeting_.version());
    if (tracking != nullptr) work.queues().greet(*tracking, now);
    exchange* const commands = pushes.router().next_commands();
    if (commands != nullptr) work.queues().greet(*commands, now);
  }
  return work.writer().gather(parts, now);
}

void link_connection::take_sent(std::size_t bytes) noexcept {
  link_counters& counters = link_.counters();
  counters.note_write();
  if (bytes != 0 && is_writing()) link_.clock().note_written(beck::detail::loop_time());
  link_.work().writer().wrote(bytes);
  counters.publish(link_.work());
}

void link_connection::take_write_error(const error_code& why) noexcept {
  if (why == beck::error::no_memory) {
    break_off(no_memory());
  } else {
    fail_writing(why);
  }
}

void link_connection::hold() noexcept { link_.add_share(); }

void link_connection::let_go() noexcept { link_.drop_share(); }

}  // namespace beck::redis::detail
