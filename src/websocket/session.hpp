// SPDX-License-Identifier: BSL-1.0
// The state of a connection, which its stream shares with the tasks under way. session.cpp has the
// end and the clock of a connection, session_read.cpp the receiving side, session_write.cpp the
// sending side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <beck/coro/event.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/http/reply.hpp>
#include <beck/http/tunnel.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>
#include <beck/websocket/stream.hpp>

#include "websocket/input.hpp"
#include "websocket/session_state.hpp"

namespace beck::websocket::detail {

using beck::detail::loop_time;

/// Random bytes for keys, drawn from the system a block at a time. Thread: that of the context.
class key_source {
 public:
  explicit key_source(const any_io_executor& executor) noexcept : executor_(executor) {}
  /// Returns the next key.
  mask_key next() noexcept;
  /// Fills memory with random bytes of the system of a context.
  static void fill(const any_io_executor& executor, void* data, std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t keys_max = 32;

  any_io_executor executor_;
  mask_key keys_[keys_max];
  std::size_t left_ = 0;
};

/// A connection. Thread: that of its context.
class session final : public std::enable_shared_from_this<session>, private beck::writer_source {
 public:
  /// Takes over what a server's handler has got, or a client.
  session(const any_io_executor& executor, const limits& most, http::tunnel&& taken);
  session(const any_io_executor& executor, const limits& most, http::taken_stream&& taken);
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // --- for stream; `self` keeps the session
  static task<io_result<message_kind>> read(std::shared_ptr<session> self, flat_buffer& to);
  static task<io_result<message_part>> read_some(std::shared_ptr<session> self, mutable_buffer to);
  static task<io_result<>> write(std::shared_ptr<session> self, message_kind kind,
                                 const_buffer data);
  static task<io_result<>> write_part(std::shared_ptr<session> self, message_kind kind,
                                      const_buffer data, bool is_last);
  static task<io_result<>> close(std::shared_ptr<session> self, close_code code,
                                 std::string reason);
  error_code send(const message& what) noexcept;
  /// Ends the connection at once; what was not sent is lost.
  void lose(const error_code& why) noexcept;

  close_code peer_code() const noexcept;
  std::string_view peer_reason() const noexcept { return decoder_.peer_reason(); }
  std::size_t queued() const noexcept { return out_.size() + later_.size(); }
  const error_code& end() const noexcept { return end_; }
  const limits& bounds() const noexcept { return limits_; }
  const any_io_executor& executor() const noexcept { return executor_; }

  std::string protocol;  ///< that was agreed on

 private:
  /// What the input has.
  enum class progress { part, more, over };
  /// The coroutine that receives: a read, a close, or the end of one.
  enum class receiver : std::uint8_t {
    none,
    works,  ///< it decodes, or sends
    waits,  ///< for bytes of the peer
  };
  /// The message that was received in part.
  enum class message_in : std::uint8_t {
    none,
    whole,     ///< by read(): the next one goes on behind what it has
    in_parts,  ///< by read_some()
  };
  class reader;
  class unfinished_message;

  // the end (session.cpp)
  bool is_lost() const noexcept { return state_ == session_state::lost; }
  void change(session_event event) noexcept;
  void fail(stream_error why) noexcept;
  void end_input(stream_error why) noexcept;
  void put_close(close_code code, std::string_view reason) noexcept;
  void end_writes() noexcept;
  void stop_writer() noexcept;
  void cut_output(const error_code& why) noexcept;
  void begin_closing() noexcept;
  static task<> finish(std::shared_ptr<session> self);
  void arm(std::int64_t at) noexcept;
  void on_alarm();
  bool check_end(std::int64_t now, std::int64_t& next) noexcept;
  bool check_sending(std::int64_t now, std::int64_t& next) noexcept;
  bool check_silence(std::int64_t now, std::int64_t& next) noexcept;
  void note_ping_sent() noexcept;
  std::int64_t patience() const noexcept;
  void stop_waiting() noexcept;

  // receiving (session_read.cpp)
  progress next_part() noexcept;
  void note(const decoded_frame& found) noexcept;
  void count_empty() noexcept;
  void take_ping() noexcept;
  void take_close() noexcept;
  mutable_buffer direct_room(flat_buffer& to);
  bool take_direct(flat_buffer& to, mutable_buffer room, std::size_t bytes) noexcept;
  task<io_result<std::size_t>> receive(mutable_buffer direct);
  error_code note_end(error_code why) noexcept;
  error_code read_error() const noexcept;

  // sending (session_write.cpp)
  error_code send_error() const noexcept;
  bool has_room(std::size_t bytes) const noexcept;
  bool part_has_room(std::size_t bytes) const noexcept;
  task<error_code> wait_for_room(std::size_t bytes);
  static task<error_code> write_frames(session& s, message_kind kind, const_buffer data,
                                       bool is_last);
  void put_frame(opcode kind, bool is_last, const_buffer data);
  void put_control(opcode kind, std::string_view text) noexcept;
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void answer_ping() noexcept;
  void schedule_flush() noexcept;
  std::size_t gather(const_buffer (&parts)[parts_max]) override { return out_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override;
  void take_write_error(const error_code& why) noexcept override;
  void begin_stall() noexcept override;
  void end_stall() noexcept override;
  void hold() noexcept override { hold_.hold(shared_from_this()); }
  void let_go() noexcept override { hold_.let_go(); }

  any_io_executor executor_;
  limits limits_;
  side own_;
  http::tunnel tunnel_;  // a server's
  owned_stream owned_;   // a client's
  byte_stream* stream_;  // one of both
  frame_decoder decoder_;
  input input_;
  key_source keys_;
  session_state state_ = session_state::open;
  error_code end_;           // why nothing more is read: in the states ending and lost
  error_code output_error_;  // why nothing more is sent: in the state deaf and behind it

  // the part of a message at the front of input_, if there is one
  std::size_t part_bytes_ = 0;
  bool has_part_ = false;
  bool part_ends_ = false;  // it is, or was, the last of its message
  message_in message_in_ = message_in::none;
  std::size_t last_bytes_ = 0;  // of the last message that read() has received

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

  unsigned empty_frames_ = 0;  // in a row, since empty_since_
  std::int64_t empty_since_ = 0;

  manual_reset_event idle_{true};  // set while no coroutine receives
  receiver receiver_ = receiver::none;
  bool closing_ = false;  // close() has received: reads get nothing any more, in any state
  std::int64_t waits_since_ = 0;
  std::int64_t silence_ = 0;     // of earlier waits, since the last byte
  std::int64_t pinged_at_ = -1;  // the silence after which a ping was sent; -1: none was
  std::uint64_t ping_end_ = 0;   // of a ping in out_, in all that was added; 0: none waits there
  std::int64_t close_due_ = INT64_MAX;
  std::int64_t send_due_ = INT64_MAX;
  std::uint64_t sent_at_check_ = 0;
  std::int64_t armed_ = INT64_MAX;  // when the timer expires
  steady_timer timer_;
};

/// The part of a stream that owns its session.
struct stream_handle {
  std::shared_ptr<session> shared;
};

/// Makes a stream of a session.
stream make_stream(std::shared_ptr<session> made);

}  // namespace beck::websocket::detail
