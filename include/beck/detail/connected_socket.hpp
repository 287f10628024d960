// SPDX-License-Identifier: BSL-1.0
// What sockets with a peer share, streams and datagrams: how they are made, connect and shutdown.
#pragma once

#include <beck/detail/connect_operation.hpp>
#include <beck/net/basic_socket.hpp>

namespace beck::detail {

/// Base is stream_object for streams and io_object for datagrams.
template <class Base, class Protocol, class Executor>
class basic_connected_socket : public basic_socket<Base, Protocol, Executor> {
  using base = basic_socket<Base, Protocol, Executor>;

 public:
  using endpoint_type = typename Protocol::endpoint;

  explicit basic_connected_socket(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Requires an executor whose context is an io_context.
  explicit basic_connected_socket(const Executor& executor) : base(executor) {}
  /// Driven by `context`, completing on any executor (a strand, a pool, a user's own).
  basic_connected_socket(io_context& context, const Executor& executor) : base(context, executor) {}
  basic_connected_socket(io_context& context, const Protocol& protocol)
      : basic_connected_socket(context) {
    this->open(protocol);
  }
  basic_connected_socket(io_context& context, const endpoint_type& endpoint)
      : basic_connected_socket(context) {
    this->open(endpoint.protocol());
    this->bind(endpoint);
  }
  basic_connected_socket(io_context& context, const Protocol& protocol, int handle)
      : basic_connected_socket(context) {
    this->assign(protocol, handle);
  }

  /// Connects; opens the socket first if it is closed. Of datagrams: chooses the only peer, whom
  /// send() sends to and who receive() hears; again: another one; sends nothing and never waits.
  /// Errors: connect(2)'s.
  connect_operation async_connect(const endpoint_type& endpoint) noexcept {
    const Protocol protocol = endpoint.protocol();
    return connect_operation(this->slot_to_open(), endpoint, protocol.family(), protocol.type(),
                             protocol.protocol());
  }
  template <class Token>
  auto async_connect(const endpoint_type& endpoint, Token&& token) {
    return detail::launch(async_connect(endpoint), static_cast<Token&&>(token));
  }
  void connect(const endpoint_type& endpoint, error_code& ec) {
    ec = error_code();
    if (!this->is_open()) this->open(endpoint.protocol(), ec);
    if (ec) return;
    endpoint_type copy(endpoint);
    io_op op(op_kind::connect, this->descriptor_, copy.data(), copy.size());
    ec = detail::make_error(this->perform_now(op));
  }
  void connect(const endpoint_type& endpoint) {
    error_code ec;
    connect(endpoint, ec);
    throw_if(ec, "connect");
  }

  /// Ends one or both directions; the peer of a stream reads eof. Source: shutdown(2).
  void shutdown(int what, error_code& ec) noexcept {
    socket_calls::shutdown(*this->descriptor_, what, ec);
  }
  void shutdown(int what) {
    error_code ec;
    shutdown(what, ec);
    throw_if(ec, "shutdown");
  }

  /// Errors: not_connected.
  endpoint_type remote_endpoint(error_code& ec) const {
    endpoint_type endpoint;
    std::size_t bytes = endpoint.capacity();
    socket_calls::remote_name(*this->descriptor_, endpoint.data(), bytes, ec);
    if (!ec) endpoint.resize(bytes);
    return endpoint;
  }
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
