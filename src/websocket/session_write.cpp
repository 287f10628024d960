// SPDX-License-Identifier: BSL-1.0
// The sending side of a connection. What is written goes into a queue; when the present code has
// returned to the loop, all of it is sent by one call. A frame is in the queue whole or not at all,
// so no cancellation leaves half a frame.
#include <algorithm>
#include <utility>

#include <beck/base/assert.hpp>

#include "websocket/frame_output.hpp"
#include "websocket/session.hpp"

namespace beck::websocket::detail {
namespace {

constexpr std::size_t copied_max = 4096;       // larger data is sent before it is copied
constexpr std::size_t fragment_max = 65'536;   // of the messages that are written
constexpr std::size_t flush_at_once = 65'536;  // waiting bytes that are not put off
constexpr unsigned pongs_max = 16;             // that wait to be sent

}  // namespace

/// Ends the connection if a message was sent in part, and its writer goes away.
class session::unfinished_message {
 public:
  unfinished_message() noexcept = default;
  unfinished_message(const unfinished_message&) = delete;
  unfinished_message& operator=(const unfinished_message&) = delete;
  ~unfinished_message() {
    if (session_ != nullptr && !session_->send_error())
      session_->fail(stream_error::write_cancelled);
  }
  void begin(session& of) noexcept { session_ = &of; }
  void end() noexcept { session_ = nullptr; }

 private:
  session* session_ = nullptr;
};

/// Returns why nothing can be sent; no error if it can.
error_code session::send_error() const noexcept {
  if (end_) return end_;
  if (output_error_) return output_error_;
  return state_ != session_state::open ? make_error_code(stream_error::closed) : error_code();
}

bool session::has_room(std::size_t bytes) const noexcept {
  const std::size_t waiting = queued();
  return waiting == 0 || waiting + bytes <= limits_.queue_bytes();
}

/// As has_room(), for a part of a message. The messages in later_ wait for the last part, so a part
/// does not wait for them: then a fragment more than the limit may be waiting.
bool session::part_has_room(std::size_t bytes) const noexcept {
  return out_.empty() || has_room(bytes);
}

/// Waits until a frame of `bytes` bytes, a part of a message, may be added.
task<error_code> session::wait_for_room(std::size_t bytes) {
  while (!send_error() && !part_has_room(bytes)) {
    room_.reset();
    auto waited = co_await room_.wait();
    if (waited.error()) co_return waited.error();
  }
  co_return send_error();
}

/// Sends a part of a message in as many frames as it needs. Requires the turn.
task<error_code> session::write_frames(session& s, message_kind kind, const_buffer data,
                                       bool is_last) {
  const std::size_t most = std::min(fragment_max, s.limits_.queue_bytes() - frame_head_max);
  unfinished_message guard;
  for (;;) {
    const const_buffer part(data.data(), std::min(data.size(), most));
    const bool ends = part.size() == data.size();
    error_code ec = s.send_error();
    if (!ec && !s.part_has_room(part.size() + frame_head_max))
      ec = co_await s.wait_for_room(part.size() + frame_head_max);
    if (ec) co_return ec;
    const opcode code = s.message_open_ ? opcode::continuation : static_cast<opcode>(kind);
    s.put_frame(code, ends && is_last, part);
    s.message_open_ = !(ends && is_last);
    data += part.size();
    if (ends) break;
    guard.begin(s);
  }
  guard.end();
  if (!s.message_open_ && !s.later_.empty()) {
    s.out_.append(s.later_);
    s.schedule_flush();
  }
  co_return error_code();
}

task<io_result<>> session::write(std::shared_ptr<session> self, message_kind kind,
                                 const_buffer data) {
  session& s = *self;
  mutex_lock turn;
  if (s.turn_.try_lock()) {
    turn = mutex_lock(s.turn_);
  } else {
    auto locked = co_await s.turn_.scoped_lock();
    if (locked.error()) co_return io_result<>(locked.error());
    turn = std::move(locked).value();
  }
  if (data.size() <= copied_max && !s.send_error() && s.has_room(data.size() + frame_head_max)) {
    s.put_frame(static_cast<opcode>(kind), true, data);  // as almost always
    co_return io_result<>();
  }
  const error_code ec = co_await write_frames(s, kind, data, true);
  co_return io_result<>(ec);
}

task<io_result<>> session::write_part(std::shared_ptr<session> self, message_kind kind,
                                      const_buffer data, bool is_last) {
  session& s = *self;
  if (!s.part_turn_.owns_lock()) {
    auto locked = co_await s.turn_.scoped_lock();
    if (locked.error()) co_return io_result<>(locked.error());
    s.part_turn_ = std::move(locked).value();
  }
  const error_code ec = co_await write_frames(s, kind, data, is_last);
  const bool over = !s.message_open_ || s.send_error();
  if (over && s.part_turn_.owns_lock()) s.part_turn_.unlock();
  co_return io_result<>(ec);
}

error_code session::send(const message& what) noexcept {
  BECK_ASSERT(what, "an empty message was sent");
  if (const error_code ec = send_error()) return ec;
  const std::string_view data = what.data();
  const std::size_t bytes = what.frame().size() + (own_ == side::client ? sizeof(mask_key) : 0);
  if (bytes > limits_.queue_bytes()) return make_error_code(beck::error::message_size);
  if (!has_room(bytes)) {
    if (!limits_.drop_when_full()) return make_error_code(beck::error::would_block);
    lose(stream_error::queue_full);
    return end_;
  }
  beck::byte_queue& to = message_open_ ? later_ : out_;
  try {
    if (own_ == side::server) {
      add_frame(to, what);
    } else {
      char head[frame_head_max];
      const mask_key key = keys_.next();
      const const_buffer head_text(
          head, write_frame_head(head, static_cast<opcode>(what.kind()), true, data.size(), &key));
      add_frame(to, head_text, const_buffer(data.data(), data.size()), &key);
    }
  } catch (...) {
    return make_error_code(beck::error::no_memory);
  }
  schedule_flush();
  return error_code();
}

// --- frames --------------------------------------------------------------------------------------

/// Adds a frame to the queue. Throws std::bad_alloc; then nothing was sent, or the connection is
/// lost.
void session::put_frame(opcode kind, bool is_last, const_buffer data) {
  char head[frame_head_max];
  const bool masks = own_ == side::client;
  const mask_key key = masks ? keys_.next() : mask_key();
  const const_buffer head_text(
      head, write_frame_head(head, kind, is_last, data.size(), masks ? &key : nullptr));
  if (masks || data.size() <= copied_max) {
    add_frame(out_, head_text, data, masks ? &key : nullptr);
  } else {
    const const_buffer parts[] = {head_text, data};
    writer_.send_behind(const_buffer_span(parts, 2));
  }
  schedule_flush();
}

/// Adds what the socket has not taken of a frame that was sent at once.
void session::keep_rest(const_buffer_span parts, std::size_t sent) {
  const const_buffer head = parts.begin()[0];
  const const_buffer data = parts.begin()[1];
  const std::size_t of_head = std::min(sent, head.size());
  add_frame(out_, head + of_head, data + (sent - of_head), nullptr);
}

/// Adds a control frame, which may stand between the parts of a message. Without memory the
/// connection is lost.
void session::put_control(opcode kind, std::string_view text) noexcept {
  if (is_lost()) return;
  char head[frame_head_max];
  const bool masks = own_ == side::client;
  const mask_key key = masks ? keys_.next() : mask_key();
  const const_buffer head_text(
      head, write_frame_head(head, kind, true, text.size(), masks ? &key : nullptr));
  try {
    add_frame(out_, head_text, const_buffer(text.data(), text.size()), masks ? &key : nullptr);
  } catch (...) {
    return lose(make_error_code(beck::error::no_memory));
  }
  schedule_flush();
}

/// Answers the last ping, unless too many answers wait to be sent: then it waits until they were,
/// and the last ping of a flood is answered, as RFC 6455, section 5.5.3, allows.
void session::answer_ping() noexcept {
  if (out_.removed() >= pong_end_) pongs_ = 0;
  if (!ping_waits_ || state_ != session_state::open || pongs_ == pongs_max) return;
  ping_waits_ = false;
  ++pongs_;
  put_control(opcode::pong, {ping_, ping_bytes_});
  pong_end_ = out_.added();
}

// --- writes --------------------------------------------------------------------------------------

/// Makes sure that the queue is sent when the present code has returned to the loop.
void session::schedule_flush() noexcept {
  if (out_.empty()) return;
  if (out_.size() >= flush_at_once) {
    writer_.flush();
  } else {
    writer_.schedule();
  }
}

void session::take_sent(std::size_t bytes) noexcept {
  out_.remove(bytes);
  note_ping_sent();
  answer_ping();
  if (out_.empty() || queued() <= limits_.queue_bytes() / 2) room_.set();
}

void session::take_write_error(const error_code& why) noexcept {
  if (why == beck::error::no_memory) {
    lose(why);
  } else {
    cut_output(why);
  }
}

/// Begins to watch that the peer takes bytes: any, in each period of limits::send().
void session::begin_stall() noexcept {
  sent_at_check_ = writer_.sent();
  send_due_ = (duration(loop_time()) + limits_.send()).nanoseconds();
  arm(send_due_);
}

void session::end_stall() noexcept {
  if (writer_.is_stopped()) out_.clear();
}

}  // namespace beck::websocket::detail
