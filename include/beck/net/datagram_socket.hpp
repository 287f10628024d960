// SPDX-License-Identifier: BSL-1.0
// basic_datagram_socket: messages of some protocol, each of them whole, with Asio's interface.
#pragma once

#include <beck/detail/connected_socket.hpp>
#include <beck/detail/datagram_option.hpp>
#include <beck/detail/message_operation.hpp>

namespace beck {

// datagram_batch.hpp
template <class Protocol, std::size_t Capacity>
class receive_batch;
template <class Protocol, std::size_t Capacity>
class send_batch;

namespace detail {

/// Whether receives of a protocol's sockets cut a long datagram without an error: a constant of the
/// protocol says so.
template <class Protocol>
inline constexpr bool cuts_datagrams = requires { requires Protocol::cuts_datagrams; };

}  // namespace detail

/// Sends and receives datagrams: to and from any endpoint or, if connected, one peer.
///
/// A receive takes one datagram, also an empty one: 0 bytes are no end of stream. Bytes that do not
/// fit into the buffers are lost: the receive ends with error::message_size and the bytes that fit.
/// Errors concern one datagram, and the socket remains usable: connection_refused (of a datagram
/// sent earlier, on a connected socket) is reported once, by the next operation; message_size if
/// the datagram is too large. Receives complete in the order of their start, and so do sends; a
/// batch counts as one. A sequence of more than 16 non-empty buffers ends with message_size, and no
/// byte moves.
/// A UNIX socket that sends to a receiver whose queue is full waits for room if it is connected to
/// it, and ends with error::no_buffer_space if not: Linux never tells it when there is room.
/// Thread, lifetime: as io_object. Cancellation: as io_object; a datagram that was not delivered
/// stays in the socket, and the result of a cancelled batch is the number of datagrams already
/// sent. shutdown() ends no receive. Source: udp(7), unix(7), recvmsg(2), sendmsg(2).
template <class Protocol, class Executor = any_io_executor>
class basic_datagram_socket
    : public detail::basic_connected_socket<detail::io_object, Protocol, Executor> {
  using base = detail::basic_connected_socket<detail::io_object, Protocol, Executor>;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  using message_flags = socket_base::message_flags;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_datagram_socket<Protocol, Other>;
  };
  /// The socket itself, for templates that also take streams in layers.
  using lowest_layer_type = basic_datagram_socket;

  using base::base;

  /// Returns the socket.
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  /// As above.
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  // Beside these: options whose number depends on the version of IP.
  using base::get_option;
  using base::set_option;
  /// Sets an option whose number depends on the version of IP (net/family_option.hpp,
  /// net/multicast.hpp). Errors: as basic_socket::set_option().
  template <detail::family_option Option>
  error_code set_option(const Option& option, error_code& ec) noexcept {
    detail::descriptor& d = *this->descriptor_;
    const int family = detail::socket_calls::family_of(d, ec);
    if (ec) return ec;
    detail::socket_calls::set_option(d, option.level(family), option.name(family), option.data(),
                                     option.size(), ec);
    return ec;
  }
  /// As above, and throws io_error on failure.
  template <detail::family_option Option>
  void set_option(const Option& option) {
    error_code ec;
    set_option(option, ec);
    detail::throw_if(ec, "set_option");
  }
  /// Reads an option whose number depends on the version of IP into `option`.
  template <detail::family_option Option>
  error_code get_option(Option& option, error_code& ec) const noexcept {
    const detail::descriptor& d = *this->descriptor_;
    const int family = detail::socket_calls::family_of(d, ec);
    if (ec) return ec;
    detail::socket_calls::get_option(d, option.level(family), option.name(family), option.data(),
                                     option.size(), ec);
    return ec;
  }
  /// As above, and throws io_error on failure.
  template <detail::family_option Option>
  void get_option(Option& option) const {
    error_code ec;
    get_option(option, ec);
    detail::throw_if(ec, "get_option");
  }

  /// Returns the number of bytes of the next datagram, 0 if there is none (or an empty one).
  std::size_t available(error_code& ec) const noexcept { return this->readable_bytes(ec); }
  /// As above, and throws io_error on failure.
  std::size_t available() const {
    error_code ec;
    const std::size_t bytes = available(ec);
    detail::throw_if(ec, "available");
    return bytes;
  }

  // --- one datagram ------------------------------------------------------------------------------
  /// Receives a datagram and writes its sender to `sender`, which must live until completion.
  /// Completes with (error_code, std::size_t): the number of bytes. Errors: message_size if the
  /// datagram was longer than the buffers; those of recvmsg(2).
  template <mutable_buffer_sequence B>
  auto async_receive_from(const B& buffers, endpoint_type& sender,
                          message_flags flags = 0) noexcept {
    if constexpr (detail::waits_instead<B>)
      return wait_for(detail::op_kind::wait_read);
    else
      return detail::receive_from_operation<endpoint_type, detail::message_parts<B>>(
          this->descriptor_, buffers, sender, flags, detail::cuts_datagrams<Protocol>);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <mutable_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_receive_from(const B& buffers, endpoint_type& sender, Token&& token) {
    return detail::launch(async_receive_from(buffers, sender), static_cast<Token&&>(token));
  }
  /// As above, with flags and a token.
  template <mutable_buffer_sequence B, class Token>
  auto async_receive_from(const B& buffers, endpoint_type& sender, message_flags flags,
                          Token&& token) {
    return detail::launch(async_receive_from(buffers, sender, flags), static_cast<Token&&>(token));
  }

  /// Receives a datagram without its sender, if connected from the peer only. Else as
  /// async_receive_from().
  template <mutable_buffer_sequence B>
  auto async_receive(const B& buffers, message_flags flags = 0) noexcept {
    if constexpr (detail::waits_instead<B>)
      return wait_for(detail::op_kind::wait_read);
    else
      return detail::plain_message_operation<detail::message_parts<B>>(
          detail::op_kind::receive_message, this->descriptor_, buffers, flags,
          detail::cuts_datagrams<Protocol>);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <mutable_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_receive(const B& buffers, Token&& token) {
    return detail::launch(async_receive(buffers), static_cast<Token&&>(token));
  }
  /// As above, with flags and a token.
  template <mutable_buffer_sequence B, class Token>
  auto async_receive(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_receive(buffers, flags), static_cast<Token&&>(token));
  }

  /// Sends the buffers as one datagram to `destination`. Completes with (error_code, std::size_t):
  /// the number of bytes. Success means that it was sent, not that it arrives. Errors: message_size
  /// if it is too large; those of sendmsg(2).
  template <const_buffer_sequence B>
  auto async_send_to(const B& buffers, const endpoint_type& destination,
                     message_flags flags = 0) noexcept {
    if constexpr (detail::waits_instead<B>)
      return wait_for(detail::op_kind::wait_write);
    else
      return detail::send_to_operation<endpoint_type, detail::message_parts<B>>(
          this->descriptor_, buffers, destination, flags);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <const_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_send_to(const B& buffers, const endpoint_type& destination, Token&& token) {
    return detail::launch(async_send_to(buffers, destination), static_cast<Token&&>(token));
  }
  /// As above, with flags and a token.
  template <const_buffer_sequence B, class Token>
  auto async_send_to(const B& buffers, const endpoint_type& destination, message_flags flags,
                     Token&& token) {
    return detail::launch(async_send_to(buffers, destination, flags), static_cast<Token&&>(token));
  }

  /// Sends the buffers as one datagram to the peer of a connected socket. Else as async_send_to().
  template <const_buffer_sequence B>
  auto async_send(const B& buffers, message_flags flags = 0) noexcept {
    if constexpr (detail::waits_instead<B>)
      return wait_for(detail::op_kind::wait_write);
    else
      return detail::plain_message_operation<detail::message_parts<B>>(
          detail::op_kind::send_message, this->descriptor_, buffers, flags);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <const_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_send(const B& buffers, Token&& token) {
    return detail::launch(async_send(buffers), static_cast<Token&&>(token));
  }
  /// As above, with flags and a token.
  template <const_buffer_sequence B, class Token>
  auto async_send(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_send(buffers, flags), static_cast<Token&&>(token));
  }

  // --- several by one call (datagram_batch.hpp) --------------------------------------------------
  /// Receives at least one datagram and at most as many as `batch` has buffers. Completes with
  /// (error_code, std::size_t): their number, which is then also batch.received(). Truncation is
  /// told of each datagram; errors are the socket's. Requires at least one buffer, asserted, and
  /// that the batch lives until completion. Memory: none.
  template <std::size_t Capacity, class Batch = receive_batch<Protocol, Capacity>>
  auto async_receive_many(receive_batch<Protocol, Capacity>& batch) noexcept {
    return static_cast<Batch&>(batch).receive_on(this->descriptor_);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <std::size_t Capacity, class Token>
  auto async_receive_many(receive_batch<Protocol, Capacity>& batch, Token&& token) {
    return detail::launch(async_receive_many(batch), static_cast<Token&&>(token));
  }
  /// Sends all datagrams of `batch` in their order. Completes with (error_code, std::size_t): the
  /// number of datagrams sent. With an error this is the number `n` of those before the one that
  /// failed; batch.discard(n + 1) drops that one too, and the rest can be sent. Requires that the
  /// batch lives until completion.
  template <std::size_t Capacity, class Batch = send_batch<Protocol, Capacity>>
  auto async_send_many(send_batch<Protocol, Capacity>& batch) noexcept {
    return static_cast<Batch&>(batch).send_on(this->descriptor_);
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <std::size_t Capacity, class Token>
  auto async_send_many(send_batch<Protocol, Capacity>& batch, Token&& token) {
    return detail::launch(async_send_many(batch), static_cast<Token&&>(token));
  }

  // --- synchronous forms: they block, or fail with would_block if non_blocking() -----------------
  /// Receives a datagram and its sender; returns the number of bytes.
  template <mutable_buffer_sequence B>
  std::size_t receive_from(const B& buffers, endpoint_type& sender, message_flags flags,
                           error_code& ec) {
    return now(async_receive_from(buffers, sender, flags), ec);
  }
  /// As above, and throws io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t receive_from(const B& buffers, endpoint_type& sender, message_flags flags = 0) {
    return or_throw(async_receive_from(buffers, sender, flags), "receive_from");
  }
  /// Receives a datagram; returns the number of bytes.
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags, error_code& ec) {
    return now(async_receive(buffers, flags), ec);
  }
  /// As above, and throws io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags = 0) {
    return or_throw(async_receive(buffers, flags), "receive");
  }
  /// Sends a datagram to `destination`; returns the number of bytes.
  template <const_buffer_sequence B>
  std::size_t send_to(const B& buffers, const endpoint_type& destination, message_flags flags,
                      error_code& ec) {
    return now(async_send_to(buffers, destination, flags), ec);
  }
  /// As above, and throws io_error on failure.
  template <const_buffer_sequence B>
  std::size_t send_to(const B& buffers, const endpoint_type& destination, message_flags flags = 0) {
    return or_throw(async_send_to(buffers, destination, flags), "send_to");
  }
  /// Sends a datagram to the peer; returns the number of bytes.
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags, error_code& ec) {
    return now(async_send(buffers, flags), ec);
  }
  /// As above, and throws io_error on failure.
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags = 0) {
    return or_throw(async_send(buffers, flags), "send");
  }
  /// Receives at least one datagram; returns their number.
  template <std::size_t Capacity>
  std::size_t receive_many(receive_batch<Protocol, Capacity>& batch, error_code& ec) {
    return now(async_receive_many(batch), ec);
  }
  /// Sends all datagrams of `batch`; returns the number of those that were sent.
  template <std::size_t Capacity>
  std::size_t send_many(send_batch<Protocol, Capacity>& batch, error_code& ec) {
    return now(async_send_many(batch), ec);
  }

  /// Returns the slot, for the library's own functions.
  detail::descriptor* slot() noexcept { return this->descriptor_; }

 private:
  /// Completes when the socket is ready, without moving a datagram.
  detail::transfer_operation wait_for(detail::op_kind readiness) noexcept {
    return {readiness, this->descriptor_, nullptr, 0};
  }

  template <class Op>
  std::size_t now(Op&& op, error_code& ec) {
    op.result = this->perform_now(op);
    const io_result<std::size_t> done = op.await_resume();
    ec = done.error();
    return *done;
  }
  template <class Op>
  std::size_t or_throw(Op&& op, const char* what) {
    error_code ec;
    const std::size_t moved = now(op, ec);
    if (ec) detail::throw_error(ec, what, moved);
    return moved;
  }
};

}  // namespace beck
