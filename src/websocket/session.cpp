// SPDX-License-Identifier: BSL-1.0
// The life of a connection: how it begins, its one timer, and its end, by which the peer gets the
// close frame and not a reset.
#include "websocket/session.hpp"

#include <algorithm>
#include <utility>

#include <beck/io/context_services.hpp>

namespace beck::websocket::detail {
namespace {

constexpr std::size_t linger_bytes_max = 262'144;  // read and dropped at the end

std::int64_t later(std::int64_t now, duration by) noexcept {
  const std::int64_t wait = std::max<std::int64_t>(by.nanoseconds(), 1);
  return wait < INT64_MAX - now ? now + wait : INT64_MAX;
}

}  // namespace

void key_source::fill(const any_io_executor& executor, void* data, std::size_t bytes) noexcept {
  random_bytes(executor, buffer(data, bytes));
}

mask_key key_source::next() noexcept {
  if (left_ == 0) {
    fill(executor_, keys_, sizeof keys_);
    left_ = keys_max;
  }
  return keys_[--left_];
}

session::session(const any_io_executor& executor, const limits& most, http::tunnel&& taken)
    : executor_(executor),
      limits_(most),
      own_(side::server),
      tunnel_(std::move(taken)),
      stream_(&tunnel_.stream()),
      decoder_(side::server, most.frames()),
      keys_(executor),
      writer_(*this),
      timer_(executor) {
  writer_.start(executor_, *stream_);
  input_.take(tunnel_.read_ahead());
}

session::session(const any_io_executor& executor, const limits& most, http::taken_stream&& taken)
    : executor_(executor),
      limits_(most),
      own_(side::client),
      owned_(std::move(taken.stream)),
      stream_(owned_.get()),
      decoder_(side::client, most.frames()),
      keys_(executor),
      writer_(*this),
      timer_(executor) {
  writer_.start(executor_, *stream_);
  input_.take(taken.read_ahead);
}

close_code session::peer_code() const noexcept {
  const close_code told = decoder_.peer_code();
  return told == close_code::none && is_lost() ? close_code::abnormal : told;
}

// --- the end -------------------------------------------------------------------------------------

void session::change(session_event event) noexcept {
  beck::detail::advance(state_, event, session_transitions);
}

/// Ends the connection for an error of the peer, or of a writer: tells the peer.
void session::fail(stream_error why) noexcept {
  if (state_ == session_state::open) put_close(code_for(why), {});
  end_input(why);
}

/// Ends the side that receives. Requires that the close frame was queued, or cannot be.
void session::end_input(stream_error why) noexcept {
  if (end_) return;
  end_ = why;
  change(session_event::end);
  begin_closing();
}

/// Sends a close frame; close_code::none: without a code. Nothing may follow it.
void session::put_close(close_code code, std::string_view reason) noexcept {
  char text[125];
  std::size_t bytes = 0;
  if (code != close_code::none) {
    const auto number = static_cast<unsigned>(code);
    text[0] = static_cast<char>(number >> 8);
    text[1] = static_cast<char>(number);
    bytes = 2 + reason.copy(text + 2, sizeof text - 2);
  }
  put_control(opcode::close, {text, bytes});
  if (state_ != session_state::open) return;  // it could not be queued, or the queue not be sent
  change(session_event::close);
  end_writes();
}

/// Lets the writes that wait end with their error: nothing more is taken.
void session::end_writes() noexcept {
  later_.clear();
  room_.set();
  if (part_turn_.owns_lock()) part_turn_.unlock();
}

/// Sends nothing more.
void session::stop_writer() noexcept {
  writer_.stop();
  if (!writer_.is_writing()) out_.clear();
}

/// Ends the direction that sends, after an error of the socket. What the peer has sent before can
/// still be read, as long as an end may take.
void session::cut_output(const error_code& why) noexcept {
  if (is_lost() || output_error_) return;
  output_error_ = why;
  if (!end_) change(session_event::mute);
  stop_writer();
  end_writes();
  begin_closing();
}

/// Limits the time that the end may take.
void session::begin_closing() noexcept {
  if (close_due_ != INT64_MAX || is_lost()) return;
  close_due_ = later(loop_time(), limits_.close());
  arm(close_due_);
}

/// Sends what is waiting and the end, then reads on until the peer ends: a close with input that
/// was not read would reset the connection, and the peer might not get the close frame.
task<> session::finish(std::shared_ptr<session> self) {
  session& s = *self;
  s.begin_closing();
  while (!s.is_lost() && !s.out_.empty()) {
    s.writer_.flush();
    auto waited = co_await s.writer_.wait_until_idle();
    if (waited) co_return;
  }
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
  if (is_lost()) return;
  change(session_event::lose);
  if (!end_) end_ = why;
  stream_->socket().close();
  stop_writer();
  end_writes();
  close_due_ = INT64_MAX;
  try {
    static_cast<void>(timer_.cancel());
  } catch (...) {  // NOLINT(bugprone-empty-catch): then it expires, and finds nothing to do
  }
}

// --- the clock -----------------------------------------------------------------------------------

/// Makes sure that the timer expires at `at`, if not before.
void session::arm(std::int64_t at) noexcept {
  if (at >= armed_ || is_lost()) return;
  armed_ = at;
  try {
    timer_.expires_at(time_point(duration(at)));
    timer_.async_wait([weak = weak_from_this()](const error_code& ec) {
      if (ec) return;
      if (const std::shared_ptr<session> self = weak.lock()) self->on_alarm();
    });
  } catch (...) {  // without its clock a connection could last for ever
    lose(make_error_code(beck::error::no_memory));
  }
}

void session::on_alarm() {
  armed_ = INT64_MAX;
  const std::int64_t now = loop_time();
  std::int64_t next = INT64_MAX;
  if (!check_end(now, next) || !check_sending(now, next) || !check_silence(now, next)) return;
  if (next != INT64_MAX) arm(next);
}

/// Each of these returns false if it has ended the connection, and lowers `next` to the time of the
/// next check.
bool session::check_end(std::int64_t now, std::int64_t& next) noexcept {
  if (now >= close_due_) {
    lose(output_error_ ? output_error_ : make_error_code(stream_error::close_late));
    return false;
  }
  next = std::min(next, close_due_);
  return true;
}

bool session::check_sending(std::int64_t now, std::int64_t& next) noexcept {
  if (!writer_.is_writing()) return true;
  if (now >= send_due_) {
    if (writer_.sent() == sent_at_check_) {
      lose(stream_error::send_late);
      return false;
    }
    begin_stall();
  }
  next = std::min(next, send_due_);
  return true;
}

/// Counts only the time in which the peer is read: the silence of all waits since its last byte.
bool session::check_silence(std::int64_t now, std::int64_t& next) noexcept {
  if (receiver_ != receiver::waits || state_ != session_state::open) return true;
  const std::int64_t silence = silence_ + (now - waits_since_);
  if (pinged_at_ < 0 && silence >= limits_.idle().nanoseconds()) {
    put_control(opcode::ping, {});
    pinged_at_ = silence;
    ping_end_ = out_.added();
  } else if (ping_end_ != 0) {
    pinged_at_ = silence;  // no pong can come yet; limits::send() holds for the queue before it
  } else if (silence >= patience()) {
    lose(stream_error::pong_late);
    return false;
  }
  next = std::min(next, later(now, duration(patience() - silence)));
  return true;
}

/// The time for a pong begins when the ping has been sent.
void session::note_ping_sent() noexcept {
  if (ping_end_ == 0 || out_.removed() < ping_end_) return;
  ping_end_ = 0;
  if (pinged_at_ < 0) return;
  pinged_at_ = silence_ + (receiver_ == receiver::waits ? loop_time() - waits_since_ : 0);
}

/// Returns the silence at which something has to be done: a ping, or the end.
std::int64_t session::patience() const noexcept {
  if (pinged_at_ < 0) return limits_.idle().nanoseconds();
  return later(pinged_at_, limits_.pong());
}

}  // namespace beck::websocket::detail
