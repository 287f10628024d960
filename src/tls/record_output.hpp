// SPDX-License-Identifier: BSL-1.0
// The sending side of a session. Bytes that the engine has encrypted are sent at once as far as the
// transport takes them, the rest in the background. So a read never waits for a write, and an
// answer that TLS owes to its peer needs no caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/byte_stream.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>

namespace beck::tls::detail {

class engine;
class session;

enum class output_state : std::uint8_t {
  open,
  ended,   ///< the user writes nothing more; only answers that TLS owes to its peer are sent
  failed,  ///< nothing more is sent, because of error()
};

/// The records that have to be sent, their writer, and the state of the direction. Thread: that of
/// its session, of which it is a part.
class record_output final : private beck::writer_source {
 public:
  class step;

  /// Requires that the transport of the session exists.
  explicit record_output(session& of) noexcept;

  // --- as byte_stream, after the handshake
  task<io_result<std::size_t>> write_some(const_buffer_span parts);
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept;
  /// Sends close_notify after the bytes, so that both leave in one packet.
  std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept;
  task<io_result<>> finish();

  // --- for the session and its input
  /// Returns the error that has ended the direction; no error before.
  const error_code& error() const noexcept { return error_; }
  bool is_sending() const noexcept { return writer_.is_writing(); }
  /// Ends the user's writes. `says_end`: sends close_notify.
  void end(bool says_end) noexcept;
  /// Keeps the output of the present step for the next one. Without memory it is sent now.
  void hold_back() noexcept;
  void send_held_back() noexcept {
    if (!waiting_.empty()) writer_.flush();
  }

 private:
  error_code write_error() const noexcept;
  template <class Call>
  std::size_t write_with(Call call, error_code& ec) noexcept;
  void send() noexcept;
  void copy_output();
  void fail(error_code why) noexcept;
  void wake_writers() noexcept;
  task<error_code> drain();

  std::size_t gather(part_array& parts) override { return waiting_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override { waiting_.remove(bytes); }
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void take_write_error(const error_code& why) noexcept override;
  void end_stall() noexcept override;
  void hold() noexcept override;
  void let_go() noexcept override;

  session& session_;
  beck::byte_queue waiting_;      // encrypted bytes that have to be sent
  std::uint64_t answers_at_ = 0;  // a count of added bytes: those after it answer the peer
  beck::stream_writer writer_;
  manual_reset_event drained_;  // set for a moment when all is sent, or the sending is cancelled
  unsigned cancels_ = 0;        // of the sending
  error_code error_;
  output_state state_ = output_state::open;
};

/// A call of the engine, at whose end its output is sent.
class record_output::step {
 public:
  explicit step(record_output& of) noexcept : output_(of) {}
  step(const step&) = delete;
  step& operator=(const step&) = delete;
  ~step() { output_.send(); }
  detail::engine* operator->() const noexcept;

 private:
  record_output& output_;
};

}  // namespace beck::tls::detail
