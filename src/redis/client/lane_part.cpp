// SPDX-License-Identifier: BSL-1.0
// A blocking command is ended by CLIENT UNBLOCK over the connection of the client.
#include "redis/client/lane_part.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/tcp.hpp>

#include "base/transitions.hpp"
#include "redis/client/lane_pool.hpp"
#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration answered_within(1'000'000'000);  // a blocking command that is to end
constexpr duration ask_pause(10'000'000);           // doubling

/// In the order of lane_event.
constexpr beck::detail::transition_table<lane_state, 4> lane_transitions = [] {
  using beck::detail::any_of;
  using enum lane_state;
  return beck::detail::transition_table<lane_state, 4>{{
      /* take      */ {used, any_of({idle})},
      /* give_back */ {returned, any_of({used})},
      /* keep      */ {idle, any_of({returned})},
      /* drop      */ {dropped, any_of({returned, idle})},
  }};
}();

}  // namespace

lane_part::lane_part(link& of, link& home) noexcept
    : link_(of), home_(home), turn_(home.lanes()->turn()) {}

lane_part::~lane_part() { in_pool.unlink(); }

void lane_part::change(lane_event event) noexcept { advance(state_, event, lane_transitions); }

error_code lane_part::check(const arguments& command, bool is_whole) noexcept {
  const lane_rule rule = lane_rule_of(command, is_whole);
  if (rule == lane_rule::refused) return error::not_on_lane;
  if (rule == lane_rule::lasting) is_changed_ = true;
  return {};
}

// --- the way back to the pool

bool lane_part::is_outdated() const noexcept { return turn_ != home_->lanes()->turn(); }

/// Returns whether the connection may be reset for another lane.
bool lane_part::may_begin_again() const noexcept {
  return !is_changed_ && !is_unblocking_ && !home_->is_closed() && !is_outdated();
}

void lane_part::give_back() noexcept {
  change(lane_event::give_back);
  if (may_begin_again() && link_.connection().begin_again()) return;
  link_.close();
  if (!link_.is_living()) end();
}

void lane_part::end() noexcept { home_->lanes()->take_end(*this); }

void lane_part::put_back() noexcept {
  idle_until_ = (duration(beck::detail::loop_time()) + link_.bounds().idle_timeout).nanoseconds();
  home_->lanes()->put(*this);
}

// --- dead peers

void lane_part::keep_alive(byte_stream& peer) const noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t seconds_max = 32'767;
  const auto seconds =
      std::clamp<std::int64_t>(link_.bounds().ping_interval.nanoseconds() / second, 1, seconds_max);
  const auto dead = std::clamp<std::int64_t>(
      link_.bounds().silence_timeout.nanoseconds() / millisecond, 1, INT32_MAX);
  const auto set = [&peer](const auto& option) {
    error_code ignored;  // a stream that is no socket has none of them
    peer.set_option(option, ignored);
  };
  set(socket_base::keep_alive(true));
  set(ip::tcp::keep_alive_idle(static_cast<int>(seconds)));
  set(ip::tcp::keep_alive_interval(static_cast<int>(seconds)));
  set(ip::tcp::user_timeout(static_cast<int>(dead)));
}

// --- blocking commands

void lane_part::begin_unblocking() noexcept {
  link_connection& connection = link_.connection();
  if (connection.cause()) return connection.break_off(connection.cause());  // it ends already
  if (std::exchange(is_unblocking_, true)) return;
  answered_.reset();
  try {
    co_spawn(link_.executor(), unblock(link_ref(link_)), detached);
  } catch (const std::bad_alloc&) {
    is_unblocking_ = false;
    connection.break_off(no_memory());
  }
}

/// Ends a blocking command that was stopped, or the connection.
task<> lane_part::unblock(link_ref self) {
  lane_part& l = *self->lane();
  bool is_ended = false;
  try {
    auto ending = timeout(l.end_blocking(), answered_within);
    const auto ended = co_await std::move(ending);
    is_ended = !ended.error();
  } catch (const std::bad_alloc&) {  // the connection ends
  }
  link_connection& connection = self->connection();
  if (!is_ended) connection.break_off(beck::error::operation_aborted);
  l.is_unblocking_ = false;
  if (!is_ended || !connection.is_ready()) co_return;
  self->work().queues().open();
  connection.flush_soon();
}

task<io_result<>> lane_part::end_blocking() {
  io_result<> result;
  result.error_ = co_await ask_to_unblock();
  if (!result.error_ && link_.work().blocking().is_unblocked())
    result.error_ = co_await pass_fence();
  co_return result;
}

/// Asks the server, over the client's connection, until the command is answered: a request may
/// arrive before it.
task<error_code> lane_part::ask_to_unblock() {
  if (id_ == 0) co_return make_error_code(std::errc::operation_not_supported);
  duration pause = ask_pause;
  while (link_.work().blocking().is_stopping()) {
    exec_one<long long> asking(sender_ref(*home_), "CLIENT", "UNBLOCK", id_, "ERROR");
    const auto asked = co_await std::move(asking);
    if (asked.error()) co_return asked.error();
    if (!link_.work().blocking().is_stopping()) break;
    auto waiting = timeout(answered_.wait(), pause);
    beck::ignore(co_await std::move(waiting));
    pause = pause + pause;
  }
  co_return error_code();
}

/// Waits until the server goes on. redis-server 7.0 answers that it has unblocked a command that
/// waits for the end of CLIENT PAUSE, and executes it afterwards all the same.
task<error_code> lane_part::pass_fence() {
  BECK_ASSERT(!fence_ || !fence_->is_under_way(), "two blocking commands of a lane are ended");
  const std::string token = "ping:" + std::to_string(random_of(link_.executor()));
  fence_ = std::make_unique<own_command>("PING", token);
  link_.work().queues().greet(*fence_, beck::detail::loop_time());
  link_.connection().flush_soon();
  while (fence_->is_under_way()) {
    auto waiting = answered_.wait();
    const auto waited = co_await std::move(waiting);
    if (waited.error()) co_return waited.error();
  }
  const reply<std::string>& echo = fence_->result();
  if (!echo || *echo != token) co_return error_code(protocol_error::unexpected_reply);
  if (link_.work().blocking().is_unblocked())
    link_.work().end_unblocked();  // else the connection was lost behind it
  co_return error_code();
}

}  // namespace beck::redis::detail
