// SPDX-License-Identifier: BSL-1.0
// The part that sockets with a peer share, streams and datagrams: constructors, connect and
// shutdown.
#pragma once

#include <beck/detail/connect_operation.hpp>
#include <beck/net/basic_socket.hpp>

namespace beck::detail {

/// The base of stream and datagram sockets. Base is stream_object for streams and io_object for
/// datagrams. Thread, cancellation, lifetime: as basic_socket.
template <class Base, class Protocol, class Executor>
class basic_connected_socket : public basic_socket<Base, Protocol, Executor> {
  using base = basic_socket<Base, Protocol, Executor>;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;

  /// Makes a closed socket on `context`.
  explicit basic_connected_socket(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Makes a closed socket on `executor`, whose context must be an io_context.
  explicit basic_connected_socket(const Executor& executor) : base(executor) {}
  /// Makes a closed socket that `context` drives and whose operations complete on `executor`, which
  /// may be any (a strand, a pool, a user's own).
  basic_connected_socket(io_context& context, const Executor& executor) : base(context, executor) {}
  /// Takes over a socket whose executor has another type, or of another protocol, such as one whose
  /// family is known when the program runs.
  template <class P, class Other>
    requires(std::is_convertible_v<const P&, Protocol> &&
             std::is_convertible_v<const Other&, Executor>)
  basic_connected_socket(basic_connected_socket<Base, P, Other>&& other) noexcept
      : base(static_cast<basic_socket<Base, P, Other>&&>(other)) {}
  /// Makes an open socket. Throws io_error, as open().
  basic_connected_socket(io_context& context, const Protocol& protocol)
      : basic_connected_socket(context) {
    this->open(protocol);
  }
  /// Makes an open socket that is bound to `endpoint`. Throws io_error, as open() and bind().
  basic_connected_socket(io_context& context, const endpoint_type& endpoint)
      : basic_connected_socket(context) {
    this->open(endpoint.protocol());
    this->bind(endpoint);
  }
  /// Makes a socket from a descriptor that was made elsewhere. Throws io_error, as assign(); the
  /// caller then still owns `handle`.
  basic_connected_socket(io_context& context, const Protocol& protocol, int handle)
      : basic_connected_socket(context) {
    this->assign(protocol, handle);
  }

  /// As the three above, on `executor`.
  basic_connected_socket(const Executor& executor, const Protocol& protocol)
      : basic_connected_socket(executor) {
    this->open(protocol);
  }
  basic_connected_socket(const Executor& executor, const endpoint_type& endpoint)
      : basic_connected_socket(executor) {
    this->open(endpoint.protocol());
    this->bind(endpoint);
  }
  basic_connected_socket(const Executor& executor, const Protocol& protocol, int handle)
      : basic_connected_socket(executor) {
    this->assign(protocol, handle);
  }

  /// Connects to `endpoint`, and opens the socket first if it is closed. Completes with
  /// (error_code): the errors of socket(2) and connect(2), such as connection_refused,
  /// host_unreachable and timed_out. The endpoint is copied.
  /// On a datagram socket: sets the peer for send() and the only sender that receive() accepts. May
  /// be called again to change it. Sends nothing and completes immediately.
  /// Cancellation: ends with operation_aborted, or with the result if that is already known. The
  /// socket stays open. Source: connect(2).
  connect_operation async_connect(const endpoint_type& endpoint) noexcept {
    const Protocol protocol = endpoint.protocol();
    return connect_operation(this->slot_to_open(), endpoint, protocol.family(), protocol.type(),
                             protocol.protocol());
  }
  /// Connects as async_connect(endpoint). `token` takes (error_code).
  template <class Token>
  auto async_connect(const endpoint_type& endpoint, Token&& token) {
    return detail::launch(async_connect(endpoint), static_cast<Token&&>(token));
  }
  /// Connects on the calling thread, and opens the socket first if it is closed. Blocks until the
  /// connection is there or refused; if non_blocking(), fails with would_block instead and the
  /// connection goes on. Errors: as async_connect().
  error_code connect(const endpoint_type& endpoint, error_code& ec) {
    ec = error_code();
    if (!this->is_open()) this->open(endpoint.protocol(), ec);
    if (ec) return ec;
    endpoint_type copy(endpoint);
    io_op op(op_kind::connect, this->descriptor_, copy.data(), copy.size());
    ec = detail::make_error(this->perform_now(op));
    return ec;
  }
  /// Connects as connect(endpoint, ec). Throws io_error on failure, whose text shows the endpoint.
  void connect(const endpoint_type& endpoint) {
    error_code ec;
    connect(endpoint, ec);
    detail::throw_if(ec, "connect", endpoint);
  }

  /// Shuts down one or both directions: `what` is shutdown_receive, shutdown_send or shutdown_both.
  /// The peer of a stream whose sending was shut down reads eof after the data that was sent.
  /// Errors: not_connected; bad_descriptor if closed. Source: shutdown(2).
  error_code shutdown(int what, error_code& ec) noexcept {
    socket_calls::shutdown(*this->descriptor_, what, ec);
    return ec;
  }
  /// Shuts down as shutdown(what, ec). Throws io_error on failure.
  void shutdown(int what) {
    error_code ec;
    shutdown(what, ec);
    throw_if(ec, "shutdown");
  }

  /// Returns whether the next byte to be received is at the mark of urgent data. Source:
  /// sockatmark(3).
  bool at_mark(error_code& ec) const noexcept {
    int mark = 0;
    this->control(0x8905, &mark, ec);
    return mark != 0;
  }
  /// As above. Throws io_error on failure.
  bool at_mark() const {
    error_code ec;
    const bool is_there = at_mark(ec);
    throw_if(ec, "at_mark");
    return is_there;
  }

  /// Returns the endpoint of the peer; a default one on failure. Errors: not_connected;
  /// bad_descriptor if closed. Source: getpeername(2).
  endpoint_type remote_endpoint(error_code& ec) const {
    endpoint_type endpoint;
    std::size_t bytes = endpoint.capacity();
    socket_calls::remote_name(*this->descriptor_, endpoint.data(), bytes, ec);
    if (!ec) endpoint.resize(bytes);
    return endpoint;
  }
  /// Returns the endpoint of the peer. Throws io_error on failure.
  endpoint_type remote_endpoint() const {
    error_code ec;
    const endpoint_type endpoint = remote_endpoint(ec);
    throw_if(ec, "remote_endpoint");
    return endpoint;
  }

 protected:
  basic_connected_socket(basic_connected_socket&&) noexcept = default;
  basic_connected_socket& operator=(basic_connected_socket&&) noexcept = default;
  ~basic_connected_socket() = default;
};

}  // namespace beck::detail
