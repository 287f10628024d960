// SPDX-License-Identifier: BSL-1.0
// The timer is set to the earliest limit, and checks all of them when it expires. A limit that is
// extended does not move the timer.
#include "websocket/session_clock.hpp"

#include <algorithm>
#include <memory>

#include <beck/base/assert.hpp>

#include "websocket/session.hpp"

namespace beck::websocket::detail {
namespace {

std::int64_t later(std::int64_t now, duration by) noexcept {
  const std::int64_t wait = std::max<std::int64_t>(by.nanoseconds(), 1);
  return wait < INT64_MAX - now ? now + wait : INT64_MAX;
}

}  // namespace

session_clock::session_clock(session& of) : session_(of), timer_(of.executor()) {}

/// Makes sure that the timer expires at `at`, if not before.
void session_clock::arm(std::int64_t at) noexcept {
  if (at >= armed_ || session_.is_lost()) return;
  armed_ = at;
  try {
    timer_.expires_at(time_point(duration(at)));
    timer_.async_wait([weak = session_.weak_from_this()](const error_code& ec) {
      if (ec) return;
      if (const std::shared_ptr<session> self = weak.lock()) self->clock().on_alarm();
    });
  } catch (...) {  // without its clock a connection could last for ever
    session_.lose(make_error_code(beck::error::no_memory));
  }
}

void session_clock::on_alarm() noexcept {
  armed_ = INT64_MAX;
  const std::int64_t now = beck::detail::loop_time();
  std::int64_t next = INT64_MAX;
  if (!check_end(now, next) || !check_sending(now, next) || !check_silence(now, next)) return;
  if (next != INT64_MAX) arm(next);
}

// --- the silence ---------------------------------------------------------------------------------

void session_clock::begin_wait() noexcept {
  BECK_ASSERT(waits_since_ < 0, "two reads of a WebSocket connection wait");
  waits_since_ = beck::detail::loop_time();
  const std::int64_t left = patience() - silence_;
  if (left < INT64_MAX - waits_since_) arm(waits_since_ + left);
}

void session_clock::note_heard() noexcept {
  waits_since_ = -1;
  silence_ = 0;
  pinged_at_ = -1;
}

void session_clock::end_wait() noexcept {
  if (waits_since_ < 0) return;
  silence_ = silence_at(beck::detail::loop_time());
  waits_since_ = -1;
}

std::int64_t session_clock::silence_at(std::int64_t now) const noexcept {
  return waits_since_ < 0 ? silence_ : silence_ + (now - waits_since_);
}

void session_clock::note_ping_sent() noexcept {
  ping_end_ = 0;
  if (pinged_at_ >= 0) pinged_at_ = silence_at(beck::detail::loop_time());
}

/// Returns the silence after which a ping is due, or the end.
std::int64_t session_clock::patience() const noexcept {
  if (pinged_at_ < 0) return session_.bounds().ping_interval.nanoseconds();
  return later(pinged_at_, session_.bounds().pong_timeout);
}

// --- the checks ----------------------------------------------------------------------------------

/// Each of these returns false if it has ended the connection, and lowers `next` to the time of the
/// next check.
bool session_clock::check_end(std::int64_t now, std::int64_t& next) noexcept {
  if (now >= close_due_) {
    session_.lose_late();
    return false;
  }
  next = std::min(next, close_due_);
  return true;
}

bool session_clock::check_sending(std::int64_t now, std::int64_t& next) noexcept {
  const frame_output& output = session_.output();
  if (!output.is_writing()) return true;
  if (now >= send_due_) {
    if (output.sent() == sent_at_check_) {
      session_.lose(stream_error::send_late);
      return false;
    }
    watch_sending();
  }
  next = std::min(next, send_due_);
  return true;
}

/// Counts only the time in which the peer is read.
bool session_clock::check_silence(std::int64_t now, std::int64_t& next) noexcept {
  if (waits_since_ < 0 || !session_.is_open()) return true;
  const std::int64_t silence = silence_at(now);
  if (pinged_at_ < 0 && silence >= session_.bounds().ping_interval.nanoseconds()) {
    session_.output().put_control(opcode::ping, {});
    pinged_at_ = silence;
    ping_end_ = session_.output().added();
    note_sent(session_.output().removed());  // it may have left at once, behind queued frames
  } else if (ping_end_ != 0) {
    pinged_at_ = silence;  // no pong can come yet; send_timeout holds for the queue before it
  } else if (silence >= patience()) {
    session_.lose(stream_error::pong_late);
    return false;
  }
  next = std::min(next, later(now, duration(patience() - silence)));
  return true;
}

// --- the other limits ----------------------------------------------------------------------------

void session_clock::watch_sending() noexcept {
  BECK_ASSERT(session_.output().is_writing(), "a limit for sending, and nothing is sent");
  sent_at_check_ = session_.output().sent();
  send_due_ = (duration(beck::detail::loop_time()) + session_.bounds().send_timeout).nanoseconds();
  arm(send_due_);
}

void session_clock::limit_end() noexcept {
  if (close_due_ != INT64_MAX || session_.is_lost()) return;
  close_due_ = later(beck::detail::loop_time(), session_.bounds().close_timeout);
  arm(close_due_);
}

void session_clock::stop() noexcept {
  BECK_ASSERT(session_.is_lost(), "a WebSocket connection without time limits");
  close_due_ = INT64_MAX;
  try {
    static_cast<void>(timer_.cancel());
  } catch (...) {  // NOLINT(bugprone-empty-catch): then it expires, and finds nothing to do
  }
}

}  // namespace beck::websocket::detail
