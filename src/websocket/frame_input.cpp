// SPDX-License-Identifier: BSL-1.0
// Control frames are handled while the next part of a message is decoded. The session is told about
// frames that change its state.
#include "websocket/frame_input.hpp"

#include <algorithm>
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

/// The right to receive.
class frame_input::reader {
 public:
  explicit reader(session& of) noexcept : session_(of) {
    frame_input& in = of.input();
    BECK_ASSERT(in.idle_.is_set(), "a WebSocket stream was read twice at once");
    in.idle_.reset();
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;
  ~reader() {
    frame_input& in = session_.input();
    session_.clock().end_wait();
    in.input_.keep();
    in.idle_.set();
  }

 private:
  session& session_;
};

frame_input::frame_input(session& of, side own) noexcept
    : session_(of), decoder_(own, {of.bounds().frame_bytes, of.bounds().message_bytes}) {}

// --- frames --------------------------------------------------------------------------------------

/// Decodes up to the next part of a message, and handles the control frames before it.
frame_input::progress frame_input::next_part() noexcept {
  while (!has_part_) {
    if (session_.has_ended()) return progress::over;
    if (input_.empty()) return progress::more;
    const decoded_frame found = decoder_.decode(input_.rest());
    BECK_ASSERT(found.consumed >= found.data.size(), "more data was decoded than consumed");
    input_.consume(found.consumed - found.data.size());
    if (found.event == frame_event::more) return progress::more;
    note(found);
    part_bytes_ = found.data.size();
    has_part_ = found.event == frame_event::data && (part_bytes_ != 0 || part_ends_);
  }
  return progress::part;
}

/// Handles a frame, or a part of one, except the delivery of its data.
void frame_input::note(const decoded_frame& found) noexcept {
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
      if (!session_.has_ended()) session_.output().answer_ping(decoder_.control_text());
      break;
    case frame_event::pong:
      count_empty();
      break;
    case frame_event::close:
      session_.take_close(decoder_.peer_code());
      break;
    case frame_event::refused:
      session_.fail(decoder_.reason());
      break;
  }
}

/// Counts a frame without data. Ends the connection if there are too many.
void frame_input::count_empty() noexcept {
  const std::int64_t now = beck::detail::loop_time();
  if (empty_frames_ == 0 || now - empty_since_ > second) {
    empty_frames_ = 0;
    empty_since_ = now;
  }
  if (++empty_frames_ > session_.bounds().control_frames)
    session_.fail(stream_error::too_many_control);
}

// --- bytes ---------------------------------------------------------------------------------------

/// Waits for bytes: into `direct` unless that is empty, else into the input. Returns the number of
/// bytes in `direct`.
task<io_result<std::size_t>> frame_input::receive(mutable_buffer direct) {
  session_.output().flush();  // the reader's answers are sent before it waits
  session_.clock().begin_wait();
  input_.release();  // a wait holds no buffer of the context
  error_code ec;
  std::size_t bytes = 0;
  if (direct.size() != 0) {
    auto got = co_await session_.stream().read_some(direct);
    ec = got.error();
    bytes = got.value_;
  } else {
    auto got = co_await session_.stream().receive();
    ec = got.error();
    if (!ec) input_.take(std::move(got).value());
  }
  if (ec) {
    session_.clock().end_wait();
    ec = session_.take_read_error(ec);
  } else {
    session_.clock().note_heard();
  }
  co_return io_result<std::size_t>(ec, bytes);
}

/// Returns room at the end of `to` for the next bytes: the rest of a large frame, or, after a large
/// message, another one with its head. No room if these are few.
mutable_buffer frame_input::direct_room(flat_buffer& to) {
  const bool begins = message_in_ == message_in::none && decoder_.bytes_left() == 0;
  const std::uint64_t left = begins ? last_bytes_ + frame_head_max : decoder_.bytes_left();
  if (left < (begins ? ahead_min : direct_min)) return {};
  const std::size_t most = std::min(direct_max, to.max_size() - to.size());
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, most));
  return bytes != 0 ? beck::buffer(to.prepare(bytes), bytes) : mutable_buffer();
}

/// Decodes bytes that were received at the end of `to`; their data stays there. Drops the head
/// before the first data of a message, and moves the bytes after one frame to the input. Returns
/// whether there was data.
bool frame_input::take_direct(flat_buffer& to, mutable_buffer room, std::size_t bytes) noexcept {
  const decoded_frame found = decoder_.decode(beck::buffer(room, bytes));
  const mutable_buffer behind = beck::buffer(room, bytes) + found.consumed;
  try {
    input_.take({static_cast<const char*>(behind.data()), behind.size()});
  } catch (...) {
    session_.lose(make_error_code(beck::error::no_memory));
  }
  BECK_ASSERT(found.consumed <= bytes, "more bytes were decoded than received");
  note(found);
  if (session_.has_ended() || found.event != frame_event::data) return false;
  to.commit(found.consumed);
  to.consume(found.consumed - found.data.size());
  return true;
}

// --- messages ------------------------------------------------------------------------------------

task<io_result<message_kind>> frame_input::read(std::shared_ptr<session> self, flat_buffer& to) {
  using result = io_result<message_kind>;
  frame_input& in = self->input();
  if (in.is_closed_) co_return result(in.closed_error(), message_kind::text);
  const reader only(*self);
  if (in.message_in_ != message_in::whole) to.clear();
  for (;;) {
    const progress found = in.next_part();
    if (found == progress::over) break;
    if (found == progress::part) {
      if (in.part_bytes_ > to.max_size() - to.size()) {
        in.has_part_ = false;
        self->fail(stream_error::message_too_long);
        break;
      }
      const mutable_buffer room = to.prepare(in.part_bytes_);
      to.commit(buffer_copy(room, in.input_.rest(), in.part_bytes_));
      in.input_.consume(in.part_bytes_);
      in.has_part_ = false;
    } else {
      const mutable_buffer room = in.direct_room(to);
      auto got = co_await in.receive(room);
      if (got.error() && !self->is_lost())
        co_return result(got.error(), message_kind::text);  // cancelled
      if (got.error()) break;
      if (room.size() == 0 || !in.take_direct(to, room, got.value_)) continue;
    }
    in.message_in_ = in.part_ends_ ? message_in::none : message_in::whole;
    if (!in.part_ends_) continue;
    in.last_bytes_ = to.size();
    co_return result(error_code(), in.decoder_.kind());
  }
  co_await session::finish(self);
  co_return result(self->error(), message_kind::text);
}

task<io_result<message_part>> frame_input::read_some(std::shared_ptr<session> self,
                                                     mutable_buffer to) {
  using result = io_result<message_part>;
  frame_input& in = self->input();
  message_part part;
  if (in.is_closed_) co_return result(in.closed_error(), part);
  if (to.size() == 0) co_return result(self->error(), part);
  const reader only(*self);
  for (;;) {
    const progress found = in.next_part();
    if (found == progress::over) break;
    if (found == progress::part) {
      part.bytes = buffer_copy(to, in.input_.rest(), in.part_bytes_);
      in.input_.consume(part.bytes);
      in.part_bytes_ -= part.bytes;
      in.has_part_ = in.part_bytes_ != 0;
    } else {
      const std::uint64_t left = in.decoder_.bytes_left();
      mutable_buffer room;
      if (left >= direct_min && to.size() >= direct_min)
        room =
            beck::buffer(to, static_cast<std::size_t>(std::min<std::uint64_t>(left, direct_max)));
      auto got = co_await in.receive(room);
      if (got.error() && !self->is_lost()) co_return result(got.error(), part);  // cancelled
      if (got.error()) break;
      if (room.size() == 0) continue;
      const decoded_frame direct = in.decoder_.decode(beck::buffer(room, got.value_));
      in.note(direct);
      if (self->has_ended()) break;
      BECK_ASSERT(direct.data.size() == got.value_, "a part was received with bytes behind it");
      part.bytes = got.value_;
    }
    part.kind = in.decoder_.kind();
    part.is_last = in.part_ends_ && !in.has_part_;
    in.message_in_ = part.is_last ? message_in::none : message_in::in_parts;
    co_return result(error_code(), part);
  }
  co_await session::finish(self);
  co_return result(self->error(), part);
}

/// Returns the error of a read after read_to_end().
error_code frame_input::closed_error() const noexcept {
  return session_.has_ended() ? session_.error() : make_error_code(stream_error::closed);
}

task<error_code> frame_input::read_to_end(std::shared_ptr<session> self) {
  frame_input& in = self->input();
  while (!in.idle_.is_set() && !self->is_lost()) {  // the read will see the end
    auto waited = co_await in.idle_.wait();
    if (waited.error()) co_return waited.error();
  }
  if (self->is_lost()) co_return error_code();
  const reader only(*self);
  in.is_closed_ = true;
  progress found = in.next_part();
  while (found != progress::over) {
    if (found == progress::part) {
      in.input_.consume(in.part_bytes_);
      in.has_part_ = false;
    } else {
      auto got = co_await in.receive(mutable_buffer());
      if (got.error() && !self->is_lost()) co_return got.error();  // cancelled
      if (got.error()) break;
    }
    found = in.next_part();
  }
  co_await session::finish(self);
  co_return error_code();
}

}  // namespace beck::websocket::detail
