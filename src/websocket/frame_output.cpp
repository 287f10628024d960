// SPDX-License-Identifier: BSL-1.0
// A message that is larger than a frame may be is written in parts. It has the turn until its last
// part; messages that are sent meanwhile wait for that. Control frames do not wait.
#include "websocket/frame_output.hpp"

#include <algorithm>
#include <utility>

#include <beck/base/assert.hpp>

#include "websocket/session.hpp"

namespace beck::websocket::detail {
namespace {

constexpr std::size_t copied_max = 4096;       // larger data is sent before it is copied
constexpr std::size_t fragment_max = 65'536;   // of the messages that are written
constexpr std::size_t flush_at_once = 65'536;  // waiting bytes that are not put off
constexpr unsigned pongs_max = 16;             // that wait to be sent

/// Ends the connection if a message was sent in part, and its writer is destroyed.
class unfinished_message {
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

}  // namespace

frame_output::frame_output(session& of, side own) noexcept
    : session_(of), frames_(of.executor(), own), writer_(*this) {}

// --- messages ------------------------------------------------------------------------------------

bool frame_output::has_room(std::size_t bytes) const noexcept {
  const std::size_t waiting = queued();
  return waiting == 0 || waiting + bytes <= session_.bounds().queue_bytes;
}

/// As has_room(), for a part of a message. The messages in later_ wait for the last part, so a part
/// does not wait for them: then a fragment more than the limit may be waiting.
bool frame_output::part_has_room(std::size_t bytes) const noexcept {
  return out_.empty() || has_room(bytes);
}

/// Waits until a frame of `bytes` bytes, a part of a message, may be added.
task<error_code> frame_output::wait_for_room(std::size_t bytes) {
  while (!session_.send_error() && !part_has_room(bytes)) {
    room_.reset();
    auto waited = co_await room_.wait();
    if (waited.error()) co_return waited.error();
  }
  co_return session_.send_error();
}

/// Sends a part of a message in as many frames as it needs. Requires the turn.
task<error_code> frame_output::write_frames(message_kind kind, const_buffer data, bool is_last) {
  const std::size_t most = std::min(fragment_max, session_.bounds().queue_bytes - frame_head_max);
  BECK_ASSERT(most > 0 && most <= fragment_max, "the queue has no room for a frame");
  unfinished_message unfinished;
  for (;;) {
    const const_buffer part(data.data(), std::min(data.size(), most));
    const bool ends = part.size() == data.size();
    error_code ec = session_.send_error();
    if (!ec && !part_has_room(part.size() + frame_head_max))
      ec = co_await wait_for_room(part.size() + frame_head_max);
    if (ec) co_return ec;
    const opcode code = message_open_ ? opcode::continuation : static_cast<opcode>(kind);
    put_frame(code, ends && is_last, part);
    message_open_ = !(ends && is_last);
    data += part.size();
    if (ends) break;
    unfinished.begin(session_);
  }
  unfinished.end();
  if (!message_open_ && !later_.empty()) {
    out_.append(later_);
    schedule_flush();
  }
  co_return error_code();
}

task<io_result<>> frame_output::write(std::shared_ptr<session> self, message_kind kind,
                                      const_buffer data) {
  frame_output& o = self->output();
  mutex_lock turn;
  if (o.turn_.try_lock()) {
    turn = mutex_lock(o.turn_);
  } else {
    auto locked = co_await o.turn_.scoped_lock();
    if (locked.error()) co_return io_result<>(locked.error());
    turn = std::move(locked).value();
  }
  BECK_ASSERT(!o.message_open_ || self->send_error(), "a message begins inside another one");
  if (data.size() <= copied_max && !self->send_error() &&
      o.has_room(data.size() + frame_head_max)) {
    o.put_frame(static_cast<opcode>(kind), true, data);  // as almost always
    co_return io_result<>();
  }
  const error_code ec = co_await o.write_frames(kind, data, true);
  co_return io_result<>(ec);
}

task<io_result<>> frame_output::write_part(std::shared_ptr<session> self, message_kind kind,
                                           const_buffer data, bool is_last) {
  frame_output& o = self->output();
  if (!o.part_turn_.owns_lock()) {
    auto locked = co_await o.turn_.scoped_lock();
    if (locked.error()) co_return io_result<>(locked.error());
    o.part_turn_ = std::move(locked).value();
  }
  const error_code ec = co_await o.write_frames(kind, data, is_last);
  const bool over = !o.message_open_ || self->send_error();
  if (over && o.part_turn_.owns_lock()) o.part_turn_.unlock();
  co_return io_result<>(ec);
}

error_code frame_output::send(const message& what) noexcept {
  BECK_ASSERT(what, "an empty message was sent");
  if (const error_code ec = session_.send_error()) return ec;
  const std::size_t bytes = frames_.bytes_of(what);
  const limits& most = session_.bounds();
  if (bytes > most.queue_bytes) return make_error_code(beck::error::message_size);
  if (!has_room(bytes)) {
    if (!most.drop_when_full) return make_error_code(beck::error::would_block);
    session_.lose(stream_error::queue_full);
    return session_.error();
  }
  try {
    frames_.add(message_open_ ? later_ : out_, what);
  } catch (...) {
    return make_error_code(beck::error::no_memory);
  }
  schedule_flush();
  return error_code();
}

// --- frames --------------------------------------------------------------------------------------

/// Adds a frame to the queue. Throws std::bad_alloc; then nothing was sent, or the connection is
/// lost.
void frame_output::put_frame(opcode kind, bool is_last, const_buffer data) {
  if (frames_.masks() || data.size() <= copied_max) {
    frames_.add(out_, kind, is_last, data);
  } else {
    char head[frame_head_max];
    const std::size_t bytes = write_frame_head(head, kind, is_last, data.size(), nullptr);
    const const_buffer parts[] = {const_buffer(head, bytes), data};
    writer_.send_behind(const_buffer_span(parts, 2));
  }
  schedule_flush();
}

/// Adds the bytes of a frame that the socket did not take at once.
void frame_output::keep_rest(const_buffer_span parts, std::size_t sent) {
  const const_buffer head = parts.begin()[0];
  const const_buffer data = parts.begin()[1];
  BECK_ASSERT(sent <= head.size() + data.size(), "the stream took more bytes than a frame has");
  const std::size_t of_head = std::min(sent, head.size());
  add_frame(out_, head + of_head, data + (sent - of_head), nullptr);
}

void frame_output::put_control(opcode kind, std::string_view text) noexcept {
  BECK_ASSERT(text.size() <= sizeof ping_, "a control frame over 125 bytes");
  if (session_.is_lost()) return;
  try {
    frames_.add(out_, kind, true, const_buffer(text.data(), text.size()));
  } catch (...) {
    return session_.lose(make_error_code(beck::error::no_memory));
  }
  schedule_flush();
}

void frame_output::answer_ping(std::string_view text) noexcept {
  BECK_ASSERT(text.size() <= sizeof ping_, "a ping over 125 bytes was decoded");
  ping_bytes_ = static_cast<std::uint8_t>(text.copy(ping_, sizeof ping_));
  ping_waits_ = true;
  put_pong();
}

/// Answers the last ping, unless that was done or too many pongs are queued.
void frame_output::put_pong() noexcept {
  if (out_.removed() >= pong_end_) pongs_ = 0;
  if (!ping_waits_ || !session_.is_open() || pongs_ == pongs_max) return;
  ping_waits_ = false;
  ++pongs_;
  put_control(opcode::pong, {ping_, ping_bytes_});
  pong_end_ = out_.added();
}

// --- writes --------------------------------------------------------------------------------------

/// Makes sure that the queue is sent when the present code has returned to the loop.
void frame_output::schedule_flush() noexcept {
  if (out_.empty()) return;
  if (out_.size() >= flush_at_once) {
    writer_.flush();
  } else {
    writer_.schedule();
  }
}

void frame_output::take_sent(std::size_t bytes) noexcept {
  out_.remove(bytes);
  session_.clock().note_sent(out_.removed());
  put_pong();
  if (out_.empty() || queued() <= session_.bounds().queue_bytes / 2) room_.set();
}

void frame_output::take_write_error(const error_code& why) noexcept {
  if (why == beck::error::no_memory) {
    session_.lose(why);
  } else {
    session_.fail_output(why);
  }
}

void frame_output::begin_stall() noexcept { session_.clock().watch_sending(); }

void frame_output::end_stall() noexcept {
  if (writer_.is_stopped()) out_.clear();
}

void frame_output::hold() noexcept { hold_.hold(session_.shared_from_this()); }

void frame_output::end_writes() noexcept {
  later_.clear();
  room_.set();
  if (part_turn_.owns_lock()) part_turn_.unlock();
}

void frame_output::stop() noexcept {
  writer_.stop();
  if (!writer_.is_writing()) out_.clear();
}

task<error_code> frame_output::drain() {
  while (!session_.is_lost() && !out_.empty()) {
    writer_.flush();
    auto waited = co_await writer_.wait_until_idle();
    if (waited) co_return waited;
  }
  co_return error_code();
}

}  // namespace beck::websocket::detail
