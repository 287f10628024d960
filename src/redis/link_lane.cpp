// SPDX-License-Identifier: BSL-1.0
// Lanes: the rules for their commands, the end of blocking ones, and the way back to the pool.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/socket_option.hpp>
#include <beck/redis/command_table.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/system/system.hpp"
#include "redis/lane_pool.hpp"
#include "redis/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration answered_within(1'000'000'000);  // a blocking command that is to end
constexpr duration ask_pause(10'000'000);           // doubling

}  // namespace

error_code link::check(const arguments& command, bool is_whole) noexcept {
  if (!home_) {
    return facts_of(command).needs_lane() ? error_code(error::needs_lane) : error_code();
  }
  const lane_rule rule = lane_rule_of(command, is_whole);
  if (rule == lane_rule::refused) return error::not_on_lane;
  if (rule == lane_rule::lasting) is_changed_ = true;
  return {};
}

// --- dead peers

/// Lets the kernel find a peer that is gone although nothing is sent to it, as in BLPOP without a
/// limit. Streams without such options have none of it.
void link::keep_alive() noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t seconds_max = 32'767;
  const auto seconds =
      std::clamp<std::int64_t>(bounds().ping().nanoseconds() / second, 1, seconds_max);
  const auto dead =
      std::clamp<std::int64_t>(bounds().silence().nanoseconds() / millisecond, 1, INT32_MAX);
  const int fd = stream_->socket().native_handle();
  auto& system = beck::detail::loop_of(executor()).sys();
  const auto set = [&](const auto& option) {
    static_cast<void>(
        system.set_option(fd, option.level(), option.name(), option.data(), option.size()));
  };
  set(socket_base::keep_alive(true));
  set(beck::detail::tcp_options::keep_alive_idle(static_cast<int>(seconds)));
  set(beck::detail::tcp_options::keep_alive_interval(static_cast<int>(seconds)));
  set(beck::detail::tcp_options::user_timeout(static_cast<int>(dead)));
}

// --- blocking commands

/// Begins to end the wait of a blocking command. Until that is done no other call is sent: a
/// request to unblock that is late must not meet another command.
void link::begin_unblocking() noexcept {
  if (cause_) return break_connection(cause_);  // it ends already, and its calls with it
  if (std::exchange(is_unblocking_, true)) return;
  answered_.reset();
  try {
    co_spawn(executor(), unblock(link_ref(*this)), detached);
  } catch (const std::bad_alloc&) {
    is_unblocking_ = false;
    break_connection(no_memory());
  }
}

/// Ends a blocking command that was stopped, or the connection.
task<> link::unblock(link_ref self) {
  link& l = *self;
  bool is_ended = false;
  try {
    auto ending = timeout(l.end_blocking(), answered_within);
    const auto ended = co_await std::move(ending);
    is_ended = !ended.error();
  } catch (const std::bad_alloc&) {  // the connection ends
  }
  if (!is_ended) l.break_connection(beck::error::operation_aborted);
  l.is_unblocking_ = false;
  if (!l.is_ready_) co_return;
  l.session_.set_ready();
  l.flush_soon();
}

task<io_result<>> link::end_blocking() {
  io_result<> result;
  result.error_ = co_await ask_to_unblock();
  if (!result.error_ && session_.is_unblocked()) result.error_ = co_await pass_fence();
  co_return result;
}

/// Asks the server, over the client's connection, until the command is answered: a request may
/// arrive before it.
task<error_code> link::ask_to_unblock() {
  if (id_ == 0) co_return make_error_code(std::errc::operation_not_supported);
  duration pause = ask_pause;
  while (session_.is_stopping() && !session_.is_unblocked()) {
    exec_one<long long> asking(sender_ref(*home_), "CLIENT", "UNBLOCK", id_, "ERROR");
    const auto asked = co_await std::move(asking);
    if (asked.error()) co_return asked.error();
    if (!session_.is_stopping() || session_.is_unblocked()) break;
    auto waiting = timeout(answered_.wait(), pause);
    beck::ignore(co_await std::move(waiting));
    pause = pause + pause;
  }
  co_return error_code();
}

/// Waits until the server goes on. redis-server 7.0 answers that it has unblocked a command that
/// waits for the end of CLIENT PAUSE, and executes it afterwards all the same.
task<error_code> link::pass_fence() {
  const std::string token = "ping:" + std::to_string(random_of(executor()));
  fence_ = std::make_unique<own_command>("PING", token);
  session_.greet(*fence_, beck::detail::loop_time());
  flush_soon();
  while (fence_->is_under_way()) {
    auto waiting = answered_.wait();
    const auto waited = co_await std::move(waiting);
    if (waited.error()) co_return waited.error();
  }
  const reply<std::string>& echo = fence_->result();
  if (!echo || *echo != token) co_return error_code(protocol_error::unexpected_reply);
  if (session_.is_unblocked()) session_.end_unblocked();  // else the connection was lost behind it
  co_return error_code();
}

// --- the way back

lane_pool& link::lanes() {
  if (!lanes_) {
    lanes_ = std::make_unique<lane_pool>(bounds().lanes());
    if (is_closed_) lanes_->close();
  }
  return *lanes_;
}

void link::return_to_pool() noexcept {
  state_ = lane_state::returned;
  if (begin_again()) return;
  close();
  if (!is_living_) home_->lanes_->ended(*this);
}

/// Greets the server anew. Returns false if the connection cannot be as new, or calls are under
/// way.
bool link::begin_again() noexcept {
  if (!is_usable() || is_changed_ || is_unblocking_ || home_->is_closed_ || is_outdated())
    return false;
  if (ping_) session_.cancel(*ping_, beck::error::operation_aborted);
  try {
    greeting_ = std::make_unique<handshake>(to_, greeting_->version(), bounds().name(),
                                            handshake::stage::again);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!session_.begin_again()) return false;
  is_ready_ = false;
  wrote_at_ = now();
  session_.greet(*greeting_, wrote_at_);
  flush_soon();
  timer_.cancel();
  return true;
}

}  // namespace beck::redis::detail
