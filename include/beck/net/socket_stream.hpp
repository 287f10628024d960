// SPDX-License-Identifier: BSL-1.0
// A byte_stream that is a socket: what it carries is what the peer gets. TCP and UNIX sockets are
// one class, because nothing here depends on the protocol.
#pragma once

#include <beck/io/byte_stream.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck {

/// A byte_stream over a connected socket that it owns. Thread, cancellation: as byte_stream.
class socket_stream final : public byte_stream {
 public:
  /// Makes a stream whose socket is closed, on `executor`: accept into socket(), then call
  /// set_up(). Throws io_error (invalid_argument) unless the context of `executor` is an
  /// io_context.
  explicit socket_stream(const any_io_executor& executor) : socket_(executor) {}
  /// Takes over a connected socket.
  template <class Protocol, class Executor>
  explicit socket_stream(basic_stream_socket<Protocol, Executor>&& socket)
      : socket_(static_cast<detail::stream_object&&>(socket)) {
    set_up();
  }
  /// Takes over the socket of `other`, which has no operation under way.
  socket_stream(socket_stream&& other) noexcept
      : byte_stream(), socket_(static_cast<untyped_socket&&>(other.socket_)) {}

  /// Prepares the socket for write_now(), after it was accepted or connected.
  void set_up() noexcept;
  /// Lets the first receive be tried at once, which saves a visit to the kernel where the peer has
  /// sent something by then, as it often has when a connection is accepted. Outside the thread that
  /// runs the context, and on a shared context, nothing happens.
  void expect_data() noexcept;

  task<io_result<buffer_lease>> receive() override;
  task<io_result<std::size_t>> read_some(mutable_buffer to) override;
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override;
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override;
  std::size_t write_last(const_buffer_span parts, error_code& ec) noexcept override;
  task<io_result<>> finish() override;
  detail::stream_object& socket() noexcept override { return socket_; }
  bool is_plain() const noexcept override { return true; }

 private:
  /// A stream of any protocol.
  class untyped_socket : public detail::stream_object {
   public:
    explicit untyped_socket(const any_io_executor& executor) : stream_object(executor) {}
    explicit untyped_socket(stream_object&& other) noexcept
        : stream_object(static_cast<stream_object&&>(other)) {}
  };

  untyped_socket socket_;
};

}  // namespace beck
