// SPDX-License-Identifier: BSL-1.0
// A session: the engine, the stream that carries it, and the writer of what is encrypted. Received
// bytes are decrypted where they lie. While a session waits it holds no buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <beck/coro/event.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/tls/stream.hpp>
#include <beck/transfer/stream_writer.hpp>

#include "tls/engine.hpp"

namespace beck::tls::detail {

using beck::detail::loop_time;

/// What may still be sent. A state is left only for a later one.
enum class output_state : std::uint8_t {
  open,
  ended,   ///< only what TLS itself owes: the user has said the end, or closed the session
  failed,  ///< nothing, because of output_error_
};

/// A session. Its stream and its coroutines share it. Thread: that of the carrier's context.
class session final : private beck::writer_source {
 public:
  /// Throws std::bad_alloc, std::logic_error if several threads run the context.
  session(owned_stream carrier, ssl_ptr prepared);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  void add_share() noexcept { shares_.add(); }
  void drop_share() noexcept {
    if (shares_.drop()) delete this;
  }

  const any_io_executor& executor() const noexcept { return executor_; }
  byte_stream& carrier() noexcept { return *carrier_; }
  const detail::engine& engine() const noexcept { return engine_; }
  std::string_view error_text() const noexcept;
  /// As stream::peer().
  beck::detail::fixed_text<100> peer_name() const;

  /// Makes the handshake, unless another operation is about it, which it then waits for. Returns
  /// its error, also later. One that is cancelled may be continued.
  static task<error_code> handshake(session_ref self);

  /// Returns whether bytes may be written: the handshake has succeeded, and nothing failed since.
  bool is_open() const noexcept {
    return engine_.state() == engine_state::open || engine_.state() == engine_state::ended;
  }

  // --- as byte_stream, behind the handshake
  task<io_result<buffer_lease>> receive();
  task<io_result<std::size_t>> read_some(mutable_buffer to);
  task<io_result<std::size_t>> write_some(const_buffer_span parts);
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept;
  /// Says the end behind the bytes, so that both leave in one packet.
  std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept;
  task<io_result<>> finish();

  // --- for the operations of tls::stream
  /// Reads what has been decrypted. Returns false if the caller has to wait.
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) noexcept;
  /// Closes the carrier: what is under way ends. `says_end`: the peer shall not find it truncated.
  void close(bool says_end) noexcept;

 private:
  class step;

  ~session() = default;

  void shake(const_buffer received) noexcept;
  task<error_code> exchange_messages();

  bool is_starved() const noexcept;
  error_code end_of_input() const noexcept;
  error_code note_end(error_code why) noexcept;
  buffer_lease unseal(buffer_lease&& received) noexcept;
  void keep(const_buffer rest) noexcept;
  std::size_t take(mutable_buffer to) noexcept;

  bool is_sending() const noexcept { return writer_.is_writing(); }
  error_code end_of_output() const noexcept;
  template <class Call>
  std::size_t write_with(Call call, error_code& ec) noexcept;
  void send_output() noexcept;
  void hold_back_output() noexcept;
  void send_held_back() noexcept {
    if (!waiting_.empty()) writer_.flush();
  }
  void copy_output();
  void end_output(bool says_end) noexcept;
  void fail_sending(error_code why) noexcept;
  task<error_code> drain();

  std::size_t gather(part_array& parts) override { return waiting_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override { waiting_.remove(bytes); }
  void keep_rest(const_buffer_span parts, std::size_t sent) override;
  void take_write_error(const error_code& why) noexcept override;
  void end_stall() noexcept override;
  void hold() noexcept override { add_share(); }
  void let_go() noexcept override { drop_share(); }

  beck::detail::ref_count shares_;
  any_io_executor executor_;
  owned_stream carrier_;
  detail::engine engine_;
  buffer_lease ahead_;            // decrypted bytes for the next read
  std::size_t ahead_at_ = 0;      // of them, those that were read
  beck::byte_queue waiting_;      // encrypted bytes that have to be sent
  std::uint64_t answers_at_ = 0;  // of all that was added: those behind answer the peer
  beck::stream_writer writer_;
  manual_reset_event drained_;  // set for a moment when nothing is being sent, or that is cancelled
  manual_reset_event shaken_;   // set for a moment when handshake() ends
  error_code handshake_error_;
  error_code input_error_;   // nothing more is received
  error_code output_error_;  // in the state failed
  unsigned cancels_ = 0;     // of what is being sent
  output_state output_ = output_state::open;
  bool shaking_ = false;  // handshake() runs
};

/// A call of the engine, at whose end its output is sent.
class session::step {
 public:
  explicit step(session& of) noexcept : session_(of) {}
  step(const step&) = delete;
  step& operator=(const step&) = delete;
  ~step() { session_.send_output(); }
  detail::engine* operator->() const noexcept { return &session_.engine_; }

 private:
  session& session_;
};

/// A session as a byte_stream, which it closes with it.
class secure_stream final : public byte_stream {
 public:
  explicit secure_stream(session_ref of) noexcept : of_(std::move(of)) {}
  ~secure_stream() override { of_->close(false); }

  task<io_result<buffer_lease>> receive() override { return of_->receive(); }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override { return of_->read_some(to); }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    return of_->write_some(parts);
  }
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override {
    return of_->write_now(parts, ec);
  }
  std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept override {
    return of_->write_last(parts, ec);
  }
  task<io_result<>> finish() override { return of_->finish(); }
  void close() noexcept override { of_->close(true); }
  std::string_view error_text() const noexcept override { return of_->error_text(); }
  beck::detail::fixed_text<100> peer_name() const override { return of_->peer_name(); }
  beck::detail::stream_object& socket() noexcept override { return of_->carrier().socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  session_ref of_;
};

/// Makes the handshake that `prepared` is ready for, over `carrier`. The result as stream_layer
/// says; with an error of TLS it owns a stream whose error_text() explains it.
task<io_result<owned_stream>> shake_hands(owned_stream carrier, ssl_ptr prepared);

}  // namespace beck::tls::detail
