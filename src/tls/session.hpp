// SPDX-License-Identifier: BSL-1.0
// A session: the engine, the transport below it, and the handshake. Its parts receive
// (record_input) and send (record_output).
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <beck/coro/event.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/tls/stream.hpp>

#include "tls/engine.hpp"
#include "tls/record_input.hpp"
#include "tls/record_output.hpp"

namespace beck::tls::detail {

using beck::detail::loop_time;

/// A session. Its stream and its coroutines share it. Thread: that of the transport's context.
class session final {
 public:
  /// Throws std::bad_alloc, std::logic_error if several threads run the context.
  session(owned_stream transport, ssl_ptr prepared);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  void add_share() noexcept { shares_.add(); }
  void drop_share() noexcept {
    if (shares_.drop()) delete this;
  }

  /// Makes the handshake. If another operation makes it, waits for that one. Returns its error,
  /// also later. A cancelled handshake may be continued.
  static task<error_code> handshake(session_ref self);
  /// Returns whether the handshake has succeeded, and nothing failed since.
  bool is_open() const noexcept {
    return engine_.state() == engine_state::open || engine_.state() == engine_state::ended;
  }
  /// As stream::peer().
  beck::detail::fixed_text<100> peer_name() const;
  /// As stream::protocol().
  std::string_view protocol() const noexcept;
  /// As byte_stream::security(). Requires that the handshake has ended.
  stream_security security() const noexcept;
  /// Closes the transport, which ends the operations under way. `says_end`: sends close_notify if
  /// there is room, so that the peer does not find the stream truncated.
  void close(bool says_end) noexcept;

  // --- its parts
  const any_io_executor& executor() const noexcept { return executor_; }
  byte_stream& transport() noexcept { return *transport_; }
  detail::engine& engine() noexcept { return engine_; }
  record_input& input() noexcept { return input_; }
  record_output& output() noexcept { return output_; }

  // --- for its parts
  /// Returns the error of the handshake; no error before its end or after a success.
  const error_code& handshake_error() const noexcept { return handshake_error_; }
  /// Called when the output has failed. A handshake that waits for the peer ends if the peer waits
  /// for bytes that were lost.
  void take_output_error() noexcept;

 private:
  ~session() = default;

  void shake(const_buffer received) noexcept;
  task<error_code> exchange_messages();
  bool has_lost_output() const noexcept;

  beck::detail::ref_count shares_;
  any_io_executor executor_;
  owned_stream transport_;
  detail::engine engine_;
  manual_reset_event shaken_;  // set for a moment when handshake() ends
  error_code handshake_error_;
  bool shaking_ = false;  // handshake() runs
  record_input input_;
  record_output output_;
};

inline detail::engine* record_output::step::operator->() const noexcept {
  return &output_.session_.engine();
}

/// A session as a byte_stream, whose destructor closes it.
class secure_stream final : public byte_stream {
 public:
  explicit secure_stream(session_ref of) noexcept : of_(std::move(of)) {}
  ~secure_stream() override { of_->close(false); }

  task<io_result<buffer_lease>> receive() override { return of_->input().receive(); }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override {
    return of_->input().read_some(to);
  }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    return of_->output().write_some(parts);
  }
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override {
    return of_->output().write_now(parts, ec);
  }
  std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept override {
    return of_->output().write_last(parts, ec);
  }
  task<io_result<>> finish() override { return of_->output().finish(); }
  void close() noexcept override { of_->close(true); }
  std::string_view error_text() const noexcept override { return of_->engine().error_text(); }
  beck::detail::fixed_text<100> peer_name() const override { return of_->peer_name(); }
  stream_security security() const noexcept override { return of_->security(); }
  beck::detail::stream_object& socket() noexcept override { return of_->transport().socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  session_ref of_;
};

/// Makes the handshake of `prepared` over `transport`. Returns as stream_layer; with an error of
/// TLS the result owns a stream whose error_text() explains it.
task<io_result<owned_stream>> shake_hands(owned_stream transport, ssl_ptr prepared);

}  // namespace beck::tls::detail
