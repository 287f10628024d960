// SPDX-License-Identifier: BSL-1.0
// basic_stream_socket: a connected byte stream of some protocol, with Asio's interface.
#pragma once

#include <beck/detail/connected_socket.hpp>
#include <beck/detail/stream_object.hpp>

namespace beck {

namespace detail {
template <class Buffers>
class stream_message;
}  // namespace detail

/// A connected byte stream of a protocol. Reading, writing, deadlines: as stream_object; opening,
/// options, waiting: as basic_socket. Thread, cancellation: as io_object.
template <class Protocol, class Executor = any_io_executor>
class basic_stream_socket
    : public detail::basic_connected_socket<detail::stream_object, Protocol, Executor> {
  using base = detail::basic_connected_socket<detail::stream_object, Protocol, Executor>;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_socket<Protocol, Other>;
  };
  /// The socket itself, for templates that also take streams in layers.
  using lowest_layer_type = basic_stream_socket;

  using base::base;
  using message_flags = socket_base::message_flags;

  /// Returns the socket.
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  /// As above.
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  /// Sends at least one byte, as write_some(). Returns the number of bytes sent; throws io_error on
  /// failure.
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers) {
    return this->write_some(buffers);
  }
  /// Receives at least one byte, as read_some(). Returns the number of bytes received; throws
  /// io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers) {
    return this->read_some(buffers);
  }
  /// Starts async_write_some().
  template <const_buffer_sequence B, class... Token>
  auto async_send(const B& buffers, Token&&... token) {
    return this->async_write_some(buffers, static_cast<Token&&>(token)...);
  }
  /// Starts async_read_some().
  template <mutable_buffer_sequence B, class... Token>
  auto async_receive(const B& buffers, Token&&... token) {
    return this->async_read_some(buffers, static_cast<Token&&>(token)...);
  }
  // Transfers with flags (net/message_flags.hpp), such as message_peek. A token takes (error_code,
  // std::size_t). The first 16 buffers that are not empty are used. Source: sendmsg(2), recvmsg(2).
  /// Sends at least one byte, with flags.
  template <const_buffer_sequence B>
  detail::stream_message<B> async_send(const B& buffers, message_flags flags) noexcept {
    return {detail::op_kind::send_message, this->descriptor_, buffers, flags};
  }
  /// Receives at least one byte, with flags.
  template <mutable_buffer_sequence B>
  detail::stream_message<B> async_receive(const B& buffers, message_flags flags) noexcept {
    return {detail::op_kind::receive_message, this->descriptor_, buffers, flags};
  }
  /// As the two above, with a token.
  template <const_buffer_sequence B, class Token>
  auto async_send(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_send(buffers, flags), static_cast<Token&&>(token));
  }
  template <mutable_buffer_sequence B, class Token>
  auto async_receive(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_receive(buffers, flags), static_cast<Token&&>(token));
  }
  /// Sends and receives on the calling thread, as write_some() and read_some().
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags, error_code& ec) {
    return moved_now(async_send(buffers, flags), ec);
  }
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags, error_code& ec) {
    return moved_now(async_receive(buffers, flags), ec);
  }
  /// As the two above. Throw io_error on failure.
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags) {
    error_code ec;
    const std::size_t bytes = send(buffers, flags, ec);
    detail::throw_if(ec, "send");
    return bytes;
  }
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags) {
    error_code ec;
    const std::size_t bytes = receive(buffers, flags, ec);
    detail::throw_if(ec, "receive");
    return bytes;
  }

 private:
  template <class Operation>
  std::size_t moved_now(Operation op, error_code& ec) const noexcept {
    ec = detail::make_error(this->perform_now(op));
    return op.transferred;
  }
};

}  // namespace beck
