// SPDX-License-Identifier: BSL-1.0
// The receiving side of a connection. A read decodes where the bytes lie; it waits by lease, or, in
// the middle of a large frame and behind a large message, straight into the reader's memory.
#include <algorithm>
#include <cstring>
#include <utility>

#include <beck/base/assert.hpp>

#include "websocket/session.hpp"

namespace beck::websocket::detail {
namespace {

constexpr std::size_t direct_min = 2048;  // bytes of a frame that are worth a receive of their own
constexpr std::size_t ahead_min = 8192;   // bytes of a message that is expected to be large
constexpr std::size_t direct_max = 131'072;  // of one receive
constexpr std::int64_t second = 1'000'000'000;

}  // namespace

/// The right to receive, which one coroutine has at a time.
class session::reader {
 public:
  explicit reader(session& of) noexcept : session_(of) {
    BECK_ASSERT(of.receiver_ == receiver::none, "a WebSocket stream was read twice at once");
    of.receiver_ = receiver::works;
    of.idle_.reset();
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;
  ~reader() {
    session_.stop_waiting();
    session_.receiver_ = receiver::none;
    session_.input_.keep();
    session_.idle_.set();
  }

 private:
  session& session_;
};

/// Decodes up to the next part of a message, and handles the control frames before it.
session::progress session::next_part() noexcept {
  while (!has_part_) {
    if (end_) return progress::over;
    if (input_.empty()) return progress::more;
    const decoded_frame found = decoder_.decode(input_.rest());
    input_.consume(found.consumed - found.data.size());
    if (found.event == frame_event::more) return progress::more;
    note(found);
    part_bytes_ = found.data.size();
    has_part_ = found.event == frame_event::data && (part_bytes_ != 0 || part_ends_);
  }
  return progress::part;
}

/// Does what a frame, or a part of one, asks for besides the delivery of its data.
void session::note(const decoded_frame& found) noexcept {
  switch (found.event) {
    case frame_event::more:
      break;
    case frame_event::data:
      part_ends_ = found.ends_message;
      if (found.data.size() != 0 || part_ends_) {
        empty_frames_ = 0;
      } else {
        count_empty();
      }
      break;
    case frame_event::ping:
      count_empty();
      if (!end_) take_ping();
      break;
    case frame_event::pong:
      count_empty();
      break;
    case frame_event::close:
      take_close();
      break;
    case frame_event::refused:
      fail(decoder_.reason());
      break;
  }
}

/// Counts a frame without data. Ends the connection if there are too many.
void session::count_empty() noexcept {
  const std::int64_t now = loop_time();
  if (empty_frames_ == 0 || now - empty_since_ > second) {
    empty_frames_ = 0;
    empty_since_ = now;
  }
  if (++empty_frames_ > limits_.control_frames()) fail(stream_error::too_many_control);
}

void session::take_ping() noexcept {
  const std::string_view text = decoder_.control_text();
  ping_bytes_ = static_cast<std::uint8_t>(text.copy(ping_, sizeof ping_));
  ping_waits_ = true;
  answer_ping();
}

/// The peer has sent its close frame: it is answered, unless it is the answer.
void session::take_close() noexcept {
  if (state_ == session_state::open) {
    const bool has_code = decoder_.peer_code() != close_code::no_status;
    put_close(has_code ? decoder_.peer_code() : close_code::none, {});
  }
  end_input(stream_error::closed);
}

/// Returns the error of a read while close() receives.
error_code session::read_error() const noexcept {
  return end_ ? end_ : make_error_code(stream_error::closed);
}

/// Returns the error of a receive, which ends the connection unless the reader was cancelled.
error_code session::note_end(error_code why) noexcept {
  const bool cancelled = why == beck::error::operation_aborted ||
                         why == beck::error::make_error_code(beck::error::timeout);
  if (cancelled && !is_lost() && stream_->socket().is_open()) return why;
  if (why == beck::error::eof) why = stream_error::cut_short;
  lose(why);
  return end_;
}

/// Adds a wait that has ended to the silence.
void session::stop_waiting() noexcept {
  if (receiver_ != receiver::waits) return;
  receiver_ = receiver::works;
  silence_ += loop_time() - waits_since_;
}

/// Waits for bytes: into `direct` unless that is empty, else into the input. Returns the number of
/// bytes in `direct`.
task<io_result<std::size_t>> session::receive(mutable_buffer direct) {
  writer_.flush();  // what the reader has answered goes out before it waits
  receiver_ = receiver::waits;
  waits_since_ = loop_time();
  const std::int64_t left = patience() - silence_;
  if (left < INT64_MAX - waits_since_) arm(waits_since_ + left);
  input_.release();  // a wait holds no buffer of the context
  error_code ec;
  std::size_t bytes = 0;
  if (direct.size() != 0) {
    auto got = co_await stream_->read_some(direct);
    ec = got.error();
    bytes = got.value_;
  } else {
    auto got = co_await stream_->receive();
    ec = got.error();
    if (!ec) input_.take(std::move(got).value());
  }
  stop_waiting();
  if (ec) {
    ec = note_end(ec);
  } else {
    silence_ = 0;
    pinged_at_ = -1;
  }
  co_return io_result<std::size_t>(ec, bytes);
}

/// Returns room at the end of `to` for what comes next: the rest of a large frame, or, after a
/// large message, another one with its head. None if that is too little.
mutable_buffer session::direct_room(flat_buffer& to) {
  const bool begins = message_in_ == message_in::none && decoder_.bytes_left() == 0;
  const std::uint64_t left = begins ? last_bytes_ + frame_head_max : decoder_.bytes_left();
  if (left < (begins ? ahead_min : direct_min)) return {};
  const std::size_t most = std::min(direct_max, to.max_size() - to.size());
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, most));
  return bytes != 0 ? beck::buffer(to.prepare(bytes), bytes) : mutable_buffer();
}

/// Decodes what was received at the end of `to`, where data stays. The head in front of the first
/// data of a message is dropped; what is behind one frame goes to the input. Returns whether there
/// was data.
bool session::take_direct(flat_buffer& to, mutable_buffer room, std::size_t bytes) noexcept {
  const decoded_frame found = decoder_.decode(beck::buffer(room, bytes));
  const mutable_buffer behind = beck::buffer(room, bytes) + found.consumed;
  try {
    input_.take({static_cast<const char*>(behind.data()), behind.size()});
  } catch (...) {
    lose(make_error_code(beck::error::no_memory));
  }
  note(found);
  if (end_ || found.event != frame_event::data) return false;
  to.commit(found.consumed);
  to.consume(found.consumed - found.data.size());
  return true;
}

task<io_result<message_kind>> session::read(std::shared_ptr<session> self, flat_buffer& to) {
  using result = io_result<message_kind>;
  session& s = *self;
  if (s.closing_) co_return result(s.read_error(), message_kind::text);
  const reader only(s);
  if (s.message_in_ != message_in::whole) to.clear();
  for (;;) {
    const progress found = s.next_part();
    if (found == progress::over) break;
    if (found == progress::part) {
      if (s.part_bytes_ > to.max_size() - to.size()) {
        s.has_part_ = false;
        s.fail(stream_error::message_too_long);
        break;
      }
      const mutable_buffer room = to.prepare(s.part_bytes_);
      to.commit(buffer_copy(room, s.input_.rest(), s.part_bytes_));
      s.input_.consume(s.part_bytes_);
      s.has_part_ = false;
    } else {
      const mutable_buffer room = s.direct_room(to);
      auto got = co_await s.receive(room);
      if (got.error() && !s.is_lost())
        co_return result(got.error(), message_kind::text);  // cancelled
      if (got.error()) break;
      if (room.size() == 0 || !s.take_direct(to, room, got.value_)) continue;
    }
    s.message_in_ = s.part_ends_ ? message_in::none : message_in::whole;
    if (!s.part_ends_) continue;
    s.last_bytes_ = to.size();
    co_return result(error_code(), s.decoder_.kind());
  }
  co_await finish(self);
  co_return result(s.end_, message_kind::text);
}

task<io_result<message_part>> session::read_some(std::shared_ptr<session> self, mutable_buffer to) {
  using result = io_result<message_part>;
  session& s = *self;
  message_part part;
  if (s.closing_) co_return result(s.read_error(), part);
  if (to.size() == 0) co_return result(s.end_, part);
  const reader only(s);
  for (;;) {
    const progress found = s.next_part();
    if (found == progress::over) break;
    if (found == progress::part) {
      part.bytes = buffer_copy(to, s.input_.rest(), s.part_bytes_);
      s.input_.consume(part.bytes);
      s.part_bytes_ -= part.bytes;
      s.has_part_ = s.part_bytes_ != 0;
    } else {
      const std::uint64_t left = s.decoder_.bytes_left();
      mutable_buffer room;
      if (left >= direct_min && to.size() >= direct_min)
        room =
            beck::buffer(to, static_cast<std::size_t>(std::min<std::uint64_t>(left, direct_max)));
      auto got = co_await s.receive(room);
      if (got.error() && !s.is_lost()) co_return result(got.error(), part);  // cancelled
      if (got.error()) break;
      if (room.size() == 0) continue;
      s.note(s.decoder_.decode(beck::buffer(room, got.value_)));
      if (s.end_) break;
      part.bytes = got.value_;
    }
    part.kind = s.decoder_.kind();
    part.is_last = s.part_ends_ && !s.has_part_;
    s.message_in_ = part.is_last ? message_in::none : message_in::in_parts;
    co_return result(error_code(), part);
  }
  co_await finish(self);
  co_return result(s.end_, part);
}

task<io_result<>> session::close(std::shared_ptr<session> self, close_code code,
                                 std::string reason) {
  session& s = *self;
  if (s.state_ == session_state::open) s.put_close(code, reason);
  s.begin_closing();
  while (s.receiver_ != receiver::none && !s.is_lost()) {  // the read will see the end
    auto waited = co_await s.idle_.wait();
    if (waited.error()) co_return io_result<>(waited.error());
  }
  if (!s.is_lost()) {
    const reader only(s);
    s.closing_ = true;
    progress found = s.next_part();
    while (found != progress::over) {
      s.input_.consume(std::exchange(s.part_bytes_, 0));
      s.has_part_ = false;
      if (found == progress::more) {
        auto got = co_await s.receive(mutable_buffer());
        if (got.error() && !s.is_lost()) co_return io_result<>(got.error());  // cancelled
        if (got.error()) break;
      }
      found = s.next_part();
    }
    co_await finish(self);
  }
  if (s.output_error_) co_return io_result<>(s.output_error_);  // the peer has not got ours
  const bool answered = s.end_ == stream_error::closed;
  co_return io_result<>(answered ? error_code() : s.end_);
}

}  // namespace beck::websocket::detail
