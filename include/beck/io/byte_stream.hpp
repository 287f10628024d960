// SPDX-License-Identifier: BSL-1.0
// The seam between protocols and the streams that carry them: a connection of HTTP is written once,
// against byte_stream, and runs over TCP, UNIX sockets and TLS. One virtual call an operation; no
// template of the stream reaches the protocol.
#pragma once

#include <cstddef>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/stream_security.hpp>

namespace beck {

class any_io_executor;

/// A number of buffers in memory of the caller's: the argument of byte_stream's writes. A value.
class const_buffer_span {
 public:
  /// Refers to `count` buffers from `first` on, which must outlive their use.
  const_buffer_span(const const_buffer* first, std::size_t count) noexcept
      : first_(first), count_(count) {}

  const const_buffer* begin() const noexcept { return first_; }
  const const_buffer* end() const noexcept { return first_ + count_; }

 private:
  const const_buffer* first_;
  std::size_t count_;
};

/// A connected stream of bytes in both directions. At most one operation that receives and one that
/// sends may be under way at once; write_now() and write_last() count as such.
/// Thread: that of the stream's context. Lifetime: outlives its operations, which end when the
/// socket is closed. Cancellation: through the awaiting task's scope, or by socket().cancel() and
/// socket().close(); bytes that were not delivered stay in the stream, and the number of bytes sent
/// is exact.
class byte_stream {
 public:
  byte_stream() noexcept = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;
  virtual ~byte_stream() = default;

  /// Receives at least one byte into a buffer that the context lends; holds none while it waits.
  /// Errors: as async_receive(); eof at the end of the stream.
  virtual task<io_result<buffer_lease>> receive() = 0;
  /// Receives at least one byte into `to`. Errors: as async_read_some(); eof at the end of the
  /// stream.
  virtual task<io_result<std::size_t>> read_some(mutable_buffer to) = 0;
  /// Sends at least one byte of the first 16 buffers of `parts` that are not empty. Returns the
  /// number of bytes sent. Errors: as async_write_some().
  virtual task<io_result<std::size_t>> write_some(const_buffer_span parts) = 0;
  /// Sends the bytes of `parts` for which there is room now, of the first 16 buffers that are not
  /// empty. Returns their number; `ec` is would_block if there was no room at all.
  virtual std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept = 0;
  /// As write_now(), for bytes behind which the stream is finished at once, or closed if its input
  /// has ended: they may wait for that, and then leave in one packet with the end. A close before
  /// all input was read would drop them.
  virtual std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept {
    return write_now(parts, ec);
  }
  /// Ends the direction that sends, behind everything that was sent: the peer reads eof. Errors:
  /// not_connected.
  virtual task<io_result<>> finish() = 0;

  /// Closes the stream at once. A protocol with an end of its own, such as TLS, says it before, if
  /// there is room for that: the peer then knows that nothing is missing. To end a stream whose
  /// peer shall notice a cut, close its socket.
  virtual void close() noexcept;

  /// Returns a sentence that explains why the stream has failed, such as the names in a certificate
  /// that is not the expected one; an empty text if the error_code says it all. Valid until the
  /// stream is destroyed.
  virtual std::string_view error_text() const noexcept { return {}; }

  /// Returns the name that the peer has proved to be, such as the common name of its certificate;
  /// an empty text if it has proved none. Throws std::bad_alloc.
  virtual detail::fixed_text<100> peer_name() const { return {}; }

  /// Returns the object with the descriptor: to cancel, to close, for options and deadlines. Its
  /// bytes belong to the protocol of the stream.
  virtual detail::stream_object& socket() noexcept = 0;
  /// Returns the executor of the stream's operations: that of socket().
  const any_io_executor& get_executor() noexcept;
  /// Sets an option of the socket, below all layers, such as ip::tcp::no_delay. Errors:
  /// bad_descriptor if closed; those of setsockopt(2), such as not_a_socket for a pipe.
  template <class Option>
  error_code set_option(const Option& option, error_code& ec) noexcept {
    set_socket_option(option.level(), option.name(), option.data(), option.size(), ec);
    return ec;
  }
  /// Returns whether the bytes of the stream are those of the socket, so that the kernel may send
  /// them from a file.
  virtual bool is_plain() const noexcept = 0;
  /// Returns the result of the handshake of a layer. Requires that there is one: !is_plain().
  virtual stream_security security() const noexcept { return {}; }

 private:
  void set_socket_option(int level, int name, const void* value, std::size_t bytes,
                         error_code& ec) noexcept;
};

}  // namespace beck
