// SPDX-License-Identifier: BSL-1.0
// The sending side of a connection. Writes add frames to a queue; when the present code has
// returned to the loop, one call sends all of them. A frame is in the queue whole or not at all, so
// no cancellation leaves half a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/coro/event.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/task.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>
#include <beck/websocket/message.hpp>

#include "websocket/frame_writer.hpp"

namespace beck::websocket::detail {

class session;

/// The frames that wait to be sent, their writer, and the turn of a message that is written in
/// parts. Thread: that of its session, of which it is a part.
class frame_output final : private beck::writer_source {
 public:
  frame_output(session& of, side own) noexcept;

  // --- for stream; `self` keeps the session
  static task<io_result<>> write(std::shared_ptr<session> self, message_kind kind,
                                 const_buffer data);
  static task<io_result<>> write_part(std::shared_ptr<session> self, message_kind kind,
                                      const_buffer data, bool is_last);
  error_code send(const message& what) noexcept;
  /// Returns the number of bytes that wait to be sent.
  std::size_t queued() const noexcept { return out_.size() + later_.size(); }

  // --- for the session
  void start(const any_io_executor& executor, byte_stream& to) noexcept {
    writer_.start(executor, to);
  }
  /// Ends the writes that wait, with the error of the session.
  void end_writes() noexcept;
  /// Drops the queued frames. Nothing is sent from now on.
  void stop() noexcept;
  /// Waits until everything was sent, or the socket is closed. Returns the error of the wait.
  task<error_code> drain();

  // --- for the other parts
  /// Adds a control frame, which may stand between the parts of a message. Without memory the
  /// connection is lost.
  void put_control(opcode kind, std::string_view text) noexcept;
  /// Answers a ping. If too many pongs are queued, answers only the last ping, after they were sent
  /// (RFC 6455, section 5.5.3).
  void answer_ping(std::string_view text) noexcept;
  /// Sends the queued frames; in the background those that the stream does not take at once.
  void flush() noexcept { writer_.flush(); }
  /// Returns the number of bytes that were added in all, and of those that have left the queue.
  std::uint64_t added() const noexcept { return out_.added(); }
  std::uint64_t removed() const noexcept { return out_.removed(); }
  /// Returns the number of bytes that the stream has taken.
  std::uint64_t sent() const noexcept { return writer_.sent(); }
  bool is_writing() const noexcept { return writer_.is_writing(); }

 private:
  bool has_room(std::size_t bytes) const noexcept;
  bool part_has_room(std::size_t bytes) const noexcept;
  task<error_code> wait_for_room(std::size_t bytes);
  task<error_code> write_frames(message_kind kind, const_buffer data, bool is_last);
  void put_frame(opcode kind, bool is_last, const_buffer data);
  void put_pong() noexcept;
  void schedule_flush() noexcept;

  std::size_t gather(part_array& parts) override { return out_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override;
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void take_write_error(const error_code& why) noexcept override;
  void begin_stall() noexcept override;
  void end_stall() noexcept override;
  void hold() noexcept override;
  void let_go() noexcept override { hold_.let_go(); }

  session& session_;
  frame_writer frames_;
  beck::byte_queue out_;
  beck::byte_queue later_;     // behind the message whose parts are being sent
  mutex turn_;                 // to send the parts of a message
  mutex_lock part_turn_;       // of write_part(), from the first to the last part
  bool message_open_ = false;  // a message was sent in part
  beck::stream_writer writer_;
  beck::shared_hold<std::shared_ptr<void>> hold_;
  manual_reset_event room_{true};

  char ping_[125];  // the text of the last ping
  std::uint8_t ping_bytes_ = 0;
  bool ping_waits_ = false;     // for its answer
  unsigned pongs_ = 0;          // since out_ had none
  std::uint64_t pong_end_ = 0;  // of the last one, in all that was added to out_
};

}  // namespace beck::websocket::detail
