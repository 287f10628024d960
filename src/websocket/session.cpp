// SPDX-License-Identifier: BSL-1.0
// The beginning of a connection, and its end, which brings the close frame to the peer and not a
// reset.
#include "websocket/session.hpp"

#include <algorithm>
#include <utility>

#include <beck/base/assert.hpp>

namespace beck::websocket::detail {
namespace {

constexpr std::size_t linger_bytes_max = 262'144;  // read and dropped at the end
constexpr std::size_t queue_bytes_min = 1024;

limits within_bounds(limits most) noexcept {
  most.control_frames = std::max(most.control_frames, 1U);
  most.queue_bytes = std::max(most.queue_bytes, queue_bytes_min);
  return most;
}

}  // namespace

session::session(const any_io_executor& executor, const limits& most, http::tunnel&& taken)
    : executor_(executor),
      limits_(within_bounds(most)),
      tunnel_(std::move(taken)),
      stream_(&tunnel_.stream()),
      input_(*this, side::server),
      output_(*this, side::server),
      clock_(*this) {
  output_.start(executor_, *stream_);
  input_.begin_with(tunnel_.read_ahead());
  http::detail::connection::of(tunnel_).owner_of_tunnel = this;
}

session::session(const any_io_executor& executor, const limits& most, http::taken_stream&& taken)
    : executor_(executor),
      limits_(within_bounds(most)),
      owned_(std::move(taken.stream)),
      stream_(owned_.get()),
      input_(*this, side::client),
      output_(*this, side::client),
      clock_(*this) {
  output_.start(executor_, *stream_);
  input_.begin_with(taken.read_ahead);
}

close_code session::peer_code() const noexcept {
  const close_code told = input_.peer_code();
  return told == close_code::none && is_lost() ? close_code::abnormal : told;
}

/// Called when the server has closed the connection, after the grace of a stop. A read would notice
/// that, but writes may wait without one.
void session::take_cut() noexcept { lose(make_error_code(beck::error::operation_aborted)); }

void session::change(session_event event) noexcept {
  beck::detail::advance(state_, event, session_transitions);
}

// --- the close frames ----------------------------------------------------------------------------

/// Sends a close frame; close_code::none: without a code. Nothing may follow it.
void session::put_close(close_code code, std::string_view reason) noexcept {
  BECK_ASSERT(code == close_code::none || may_be_sent(code), "a close frame with a bad code");
  char text[125];
  BECK_ASSERT(reason.size() <= sizeof text - 2, "the reason in a close frame is too long");
  std::size_t bytes = 0;
  if (code != close_code::none) {
    const auto number = static_cast<unsigned>(code);
    text[0] = static_cast<char>(number >> 8);
    text[1] = static_cast<char>(number);
    bytes = 2 + reason.copy(text + 2, sizeof text - 2);
  }
  output_.put_control(opcode::close, {text, bytes});
  if (!is_open()) return;  // it could not be queued, or the queue not be sent
  change(session_event::close);
  output_.end_writes();
}

void session::take_close(close_code code) noexcept {
  if (is_open()) put_close(code == close_code::no_status ? close_code::none : code, {});
  end_input(stream_error::closed);
}

void session::fail(stream_error why) noexcept {
  BECK_ASSERT(code_for(why) != close_code::none, "an error that no close frame can report");
  if (is_open()) put_close(code_for(why), {});
  end_input(why);
}

/// Ends the direction that receives. Requires that the close frame was queued, or cannot be.
void session::end_input(stream_error why) noexcept {
  if (end_) return;
  end_ = why;
  change(session_event::end);
  clock_.limit_end();
}

task<io_result<>> session::close(std::shared_ptr<session> self, close_code code,
                                 std::string reason) {
  session& s = *self;
  if (s.is_open()) s.put_close(code, reason);
  s.clock_.limit_end();
  auto ec = co_await frame_input::read_to_end(self);
  if (ec) co_return io_result<>(ec);                            // cancelled
  if (s.output_error_) co_return io_result<>(s.output_error_);  // our close frame was not sent
  const bool answered = s.end_ == stream_error::closed;
  co_return io_result<>(answered ? error_code() : s.end_);
}

// --- errors of the stream ------------------------------------------------------------------------

error_code session::take_read_error(error_code why) noexcept {
  const bool cancelled = why == beck::error::operation_aborted ||
                         why == beck::error::make_error_code(beck::error::timeout);
  if (cancelled && !is_lost() && stream_->socket().is_open()) return why;
  if (why == beck::error::eof) why = stream_error::cut_short;
  lose(why);
  return end_;
}

void session::fail_output(const error_code& why) noexcept {
  BECK_ASSERT(why, "the output of a WebSocket connection failed without an error");
  if (is_lost() || output_error_) return;
  output_error_ = why;
  if (!end_) change(session_event::fail_output);
  output_.stop();
  output_.end_writes();
  clock_.limit_end();
}

// --- the end -------------------------------------------------------------------------------------

task<> session::finish(std::shared_ptr<session> self) {
  session& s = *self;
  s.clock_.limit_end();
  auto ec = co_await s.output_.drain();
  if (ec) co_return;
  if (!s.is_lost()) ignore(co_await s.stream_->finish());
  s.input_.release();
  std::size_t left = linger_bytes_max;
  while (!s.is_lost() && left != 0) {
    auto got = co_await s.stream_->receive();
    if (got.error()) break;
    const std::size_t bytes = std::move(got).value().size();
    left -= std::min(left, bytes);
  }
  s.lose(s.end_ ? s.end_ : make_error_code(stream_error::closed));
}

void session::lose(const error_code& why) noexcept {
  BECK_ASSERT(why, "a WebSocket connection was lost without an error");  // reads would go on
  if (is_lost()) return;
  change(session_event::lose);
  if (!end_) end_ = why;
  stream_->socket().close();
  output_.stop();
  output_.end_writes();
  clock_.stop();
}

void session::lose_late() noexcept {
  lose(output_error_ ? output_error_ : make_error_code(stream_error::close_late));
}

}  // namespace beck::websocket::detail
