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

/// Sends and receives datagrams, to and from anybody or, connected, one peer.
///
/// One receive takes one datagram, also an empty one: 0 bytes are no end. What does not fit into
/// the buffers is gone: the receive ends with error::message_size and the bytes that fit. An error
/// is that of one datagram, and the socket goes on: connection_refused (of something that was sent
/// earlier, on a connected socket) is reported once, by whatever comes next; message_size where the
/// datagram is too large. Receives complete in the order of their start, the first with the first
/// datagram, and so do sends; a batch counts as one. Sequences of more than 16 buffers that are not
/// empty end with message_size, and nothing moves.
/// A UNIX socket that sends to a receiver whose queue is full waits for room if it is connected to
/// it, and ends with error::no_buffer_space if not: Linux never tells it when there is room.
/// Thread, cancellation, lifetime: as io_object; cancelled, a datagram that was not delivered is
/// still there, and of a batch that was being sent the result has how many are gone. shutdown()
/// ends no receive. Source: udp(7), unix(7), recvmsg(2), sendmsg(2).
template <class Protocol, class Executor = any_io_executor>
class basic_datagram_socket
    : public detail::basic_connected_socket<detail::io_object, Protocol, Executor> {
  using base = detail::basic_connected_socket<detail::io_object, Protocol, Executor>;

 public:
  using endpoint_type = typename Protocol::endpoint;
  using message_flags = int;
  template <class Other>
  struct rebind_executor {
    using other = basic_datagram_socket<Protocol, Other>;
  };

  static constexpr message_flags message_peek = 2;          ///< leaves the datagram there
  static constexpr message_flags message_do_not_route = 4;  ///< only to directly connected hosts

  using base::base;
  basic_datagram_socket(basic_datagram_socket&&) noexcept = default;
  basic_datagram_socket& operator=(basic_datagram_socket&&) noexcept = default;
  ~basic_datagram_socket() = default;

  /// Options whose number depends on the version of IP (multicast.hpp) find out which one it is.
  using base::get_option;
  using base::set_option;
  template <detail::family_option Option>
  void set_option(const Option& option, error_code& ec) noexcept {
    detail::descriptor& d = *this->descriptor_;
    const int family = detail::socket_calls::family_of(d, ec);
    if (ec) return;
    detail::socket_calls::set_option(d, option.level(family), option.name(family), option.data(),
                                     option.size(), ec);
  }
  template <detail::family_option Option>
  void set_option(const Option& option) {
    error_code ec;
    set_option(option, ec);
    detail::throw_if(ec, "set_option");
  }
  template <detail::family_option Option>
  void get_option(Option& option, error_code& ec) const noexcept {
    const detail::descriptor& d = *this->descriptor_;
    const int family = detail::socket_calls::family_of(d, ec);
    if (ec) return;
    detail::socket_calls::get_option(d, option.level(family), option.name(family), option.data(),
                                     option.size(), ec);
  }
  template <detail::family_option Option>
  void get_option(Option& option) const {
    error_code ec;
    get_option(option, ec);
    detail::throw_if(ec, "get_option");
  }

  /// The bytes of the next datagram, 0 if there is none (or an empty one).
  std::size_t available(error_code& ec) const noexcept { return this->readable_bytes(ec); }
  std::size_t available() const {
    error_code ec;
    const std::size_t bytes = available(ec);
    detail::throw_if(ec, "available");
    return bytes;
  }

  // --- one datagram ------------------------------------------------------------------------------
  /// Receives a datagram, and writes to `sender`, which stays until completion, from whom it is.
  template <mutable_buffer_sequence B>
  auto async_receive_from(const B& buffers, endpoint_type& sender,
                          message_flags flags = 0) noexcept {
    return detail::receive_from_operation<endpoint_type, detail::message_parts<B>>(
        this->descriptor_, buffers, sender, flags);
  }
  template <mutable_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_receive_from(const B& buffers, endpoint_type& sender, Token&& token) {
    return detail::launch(async_receive_from(buffers, sender), static_cast<Token&&>(token));
  }
  template <mutable_buffer_sequence B, class Token>
  auto async_receive_from(const B& buffers, endpoint_type& sender, message_flags flags,
                          Token&& token) {
    return detail::launch(async_receive_from(buffers, sender, flags), static_cast<Token&&>(token));
  }

  /// The same, from the peer of a connected socket or from anybody.
  template <mutable_buffer_sequence B>
  auto async_receive(const B& buffers, message_flags flags = 0) noexcept {
    return detail::plain_message_operation<detail::message_parts<B>>(
        detail::op_kind::receive_message, this->descriptor_, buffers, flags);
  }
  template <mutable_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_receive(const B& buffers, Token&& token) {
    return detail::launch(async_receive(buffers), static_cast<Token&&>(token));
  }
  template <mutable_buffer_sequence B, class Token>
  auto async_receive(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_receive(buffers, flags), static_cast<Token&&>(token));
  }

  /// Sends the buffers as one datagram to `destination`. Success says that it was sent, not that
  /// it arrives.
  template <const_buffer_sequence B>
  auto async_send_to(const B& buffers, const endpoint_type& destination,
                     message_flags flags = 0) noexcept {
    return detail::send_to_operation<endpoint_type, detail::message_parts<B>>(
        this->descriptor_, buffers, destination, flags);
  }
  template <const_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_send_to(const B& buffers, const endpoint_type& destination, Token&& token) {
    return detail::launch(async_send_to(buffers, destination), static_cast<Token&&>(token));
  }
  template <const_buffer_sequence B, class Token>
  auto async_send_to(const B& buffers, const endpoint_type& destination, message_flags flags,
                     Token&& token) {
    return detail::launch(async_send_to(buffers, destination, flags), static_cast<Token&&>(token));
  }

  /// The same, to the peer of a connected socket.
  template <const_buffer_sequence B>
  auto async_send(const B& buffers, message_flags flags = 0) noexcept {
    return detail::plain_message_operation<detail::message_parts<B>>(
        detail::op_kind::send_message, this->descriptor_, buffers, flags);
  }
  template <const_buffer_sequence B, class Token>
    requires(!std::is_convertible_v<Token, message_flags>)
  auto async_send(const B& buffers, Token&& token) {
    return detail::launch(async_send(buffers), static_cast<Token&&>(token));
  }
  template <const_buffer_sequence B, class Token>
  auto async_send(const B& buffers, message_flags flags, Token&& token) {
    return detail::launch(async_send(buffers, flags), static_cast<Token&&>(token));
  }

  // --- several by one call (datagram_batch.hpp) --------------------------------------------------
  /// Receives what is there, at least one datagram and at most as many as the batch has room for:
  /// how many, which is then also batch.received(). Whether one was cut is said of each; errors are
  /// the socket's. Requires room for at least one. The batch stays until completion.
  /// Memory: none.
  template <std::size_t Capacity, class Batch = receive_batch<Protocol, Capacity>>
  auto async_receive_many(receive_batch<Protocol, Capacity>& batch) noexcept {
    return static_cast<Batch&>(batch).receive_on(this->descriptor_);
  }
  template <std::size_t Capacity, class Token>
  auto async_receive_many(receive_batch<Protocol, Capacity>& batch, Token&& token) {
    return detail::launch(async_receive_many(batch), static_cast<Token&&>(token));
  }
  /// Sends all datagrams of the batch in their order: how many. After an error that many were sent
  /// and the next one was not; batch.discard(n + 1) drops it too, and the rest can be sent.
  template <std::size_t Capacity, class Batch = send_batch<Protocol, Capacity>>
  auto async_send_many(send_batch<Protocol, Capacity>& batch) noexcept {
    return static_cast<Batch&>(batch).send_on(this->descriptor_);
  }
  template <std::size_t Capacity, class Token>
  auto async_send_many(send_batch<Protocol, Capacity>& batch, Token&& token) {
    return detail::launch(async_send_many(batch), static_cast<Token&&>(token));
  }

  // --- synchronous forms: they wait, unless non_blocking() ---------------------------------------
  template <mutable_buffer_sequence B>
  std::size_t receive_from(const B& buffers, endpoint_type& sender, message_flags flags,
                           error_code& ec) {
    return now(async_receive_from(buffers, sender, flags), ec);
  }
  template <mutable_buffer_sequence B>
  std::size_t receive_from(const B& buffers, endpoint_type& sender, message_flags flags = 0) {
    return or_throw(async_receive_from(buffers, sender, flags), "receive_from");
  }
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags, error_code& ec) {
    return now(async_receive(buffers, flags), ec);
  }
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers, message_flags flags = 0) {
    return or_throw(async_receive(buffers, flags), "receive");
  }
  template <const_buffer_sequence B>
  std::size_t send_to(const B& buffers, const endpoint_type& destination, message_flags flags,
                      error_code& ec) {
    return now(async_send_to(buffers, destination, flags), ec);
  }
  template <const_buffer_sequence B>
  std::size_t send_to(const B& buffers, const endpoint_type& destination, message_flags flags = 0) {
    return or_throw(async_send_to(buffers, destination, flags), "send_to");
  }
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags, error_code& ec) {
    return now(async_send(buffers, flags), ec);
  }
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers, message_flags flags = 0) {
    return or_throw(async_send(buffers, flags), "send");
  }
  template <std::size_t Capacity>
  std::size_t receive_many(receive_batch<Protocol, Capacity>& batch, error_code& ec) {
    return now(async_receive_many(batch), ec);
  }
  template <std::size_t Capacity>
  std::size_t send_many(send_batch<Protocol, Capacity>& batch, error_code& ec) {
    return now(async_send_many(batch), ec);
  }

  /// The slot, for the library's own functions.
  detail::descriptor* slot() noexcept { return this->descriptor_; }

 private:
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
