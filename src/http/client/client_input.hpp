// SPDX-License-Identifier: BSL-1.0
// The input of a client's connection. Received bytes are copied out of the lent buffer at once, so
// a connection holds no lent buffer while its user is slow to read a body.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/event.hpp>
#include <beck/http/parser.hpp>
#include <beck/io/buffer_lease.hpp>

namespace beck::http::detail {

/// The received bytes that were not consumed, the wish for more, and the end of the input. A call
/// reads it, and a coroutine of the connection fills it. Thread: that of the connection, of which
/// it is a part.
class client_input {
 public:
  /// Returns the received bytes; request_parser::padding bytes after them are readable.
  std::string_view view() const noexcept { return bytes_.view(); }
  /// Requires at most as many bytes as there are.
  void consume(std::size_t bytes) noexcept {
    BECK_ASSERT(bytes <= bytes_.size(), "more bytes are consumed than were received");
    bytes_.consume(bytes);
  }
  /// Starts to receive once, unless a receive is under way.
  void want_more() noexcept {
    if (is_asked_ || end_) return;
    is_asked_ = true;
    wanted_.set();
  }
  bool is_receiving() const noexcept { return is_asked_; }
  /// Returns an event that is set when bytes have arrived, when the input has ended, and when the
  /// output of the connection has become empty.
  auto_reset_event& received() noexcept { return received_; }
  /// Returns why the input has ended; no error while it is open.
  const error_code& end() const noexcept { return end_; }
  /// Notes that the input has ended, without a receive.
  void note_end(const error_code& why) noexcept { end_ = why; }

  // --- for the connection
  /// Returns an event that is set when more is wanted, and when the connection ends.
  auto_reset_event& wanted() noexcept { return wanted_; }
  /// Takes the result of a receive. Throws std::bad_alloc.
  void take(io_result<buffer_lease>&& got) {
    BECK_ASSERT(is_asked_, "bytes were received that nobody wants");
    if (got.error()) return fail(got.error());
    const buffer_lease lease = static_cast<io_result<buffer_lease>&&>(got).value();
    const mutable_buffer room = bytes_.prepare(lease.size() + request_parser::padding);
    std::memcpy(room.data(), lease.data(), lease.size());
    bytes_.commit(lease.size());
    is_asked_ = false;
    received_.set();
  }
  /// Ends the input: the receive under way has failed.
  void fail(const error_code& why) noexcept {
    end_ = why;
    is_asked_ = false;
    received_.set();
  }
  /// Ends the input with the connection.
  void stop() noexcept {
    if (!end_) end_ = make_error_code(error::operation_aborted);
    wanted_.set();
    received_.set();
  }
  /// Prepares for the call that comes next: frees memory above `kept_bytes`. Requires that nothing
  /// of the call before is left.
  void rest(std::size_t kept_bytes) noexcept {
    BECK_ASSERT(bytes_.empty(), "a connection is idle with bytes for a call that has ended");
    BECK_ASSERT(!is_asked_ && !end_, "a connection is idle that notices nothing");
    if (bytes_.capacity() > kept_bytes) bytes_.release();
  }

 private:
  flat_buffer bytes_;
  auto_reset_event wanted_, received_;
  error_code end_;
  bool is_asked_ = false;  // to receive, and nothing has arrived since
};

}  // namespace beck::http::detail
