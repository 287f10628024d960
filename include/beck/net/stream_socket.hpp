// SPDX-License-Identifier: BSL-1.0
// basic_stream_socket: a connected byte stream of some protocol, with Asio's interface.
#pragma once

#include <beck/io/stream_object.hpp>
#include <beck/net/basic_socket.hpp>
#include <beck/net/connect_operation.hpp>

namespace beck {

template <class Protocol, class Executor = any_io_executor>
class basic_stream_socket : public basic_socket<stream_object, Protocol, Executor> {
  using base = basic_socket<stream_object, Protocol, Executor>;

 public:
  using endpoint_type = typename Protocol::endpoint;
  template <class Other>
  struct rebind_executor {
    using other = basic_stream_socket<Protocol, Other>;
  };

  explicit basic_stream_socket(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Requires an executor whose context is an io_context.
  explicit basic_stream_socket(const Executor& executor) : base(executor) {}
  /// Driven by `context`, completing on any executor (a strand, a pool, a user's own).
  basic_stream_socket(io_context& context, const Executor& executor) : base(context, executor) {}
  basic_stream_socket(io_context& context, const Protocol& protocol)
      : basic_stream_socket(context) {
    this->open(protocol);
  }
  basic_stream_socket(io_context& context, const endpoint_type& endpoint)
      : basic_stream_socket(context) {
    this->open(endpoint.protocol());
    this->bind(endpoint);
  }
  basic_stream_socket(io_context& context, const Protocol& protocol, int handle)
      : basic_stream_socket(context) {
    this->assign(protocol, handle);
  }
  basic_stream_socket(basic_stream_socket&&) noexcept = default;
  basic_stream_socket& operator=(basic_stream_socket&&) noexcept = default;
  ~basic_stream_socket() = default;

  /// Connects; opens the socket first if it is closed. Errors: connect(2)'s.
  connect_operation async_connect(const endpoint_type& endpoint) noexcept {
    const Protocol protocol = endpoint.protocol();
    return connect_operation(this->descriptor_, endpoint, protocol.family(), protocol.type(),
                             protocol.protocol());
  }
  template <class Token>
  auto async_connect(const endpoint_type& endpoint, Token&& token) {
    return launch(async_connect(endpoint), static_cast<Token&&>(token));
  }
  void connect(const endpoint_type& endpoint, error_code& ec) {
    ec = error_code();
    if (!this->is_open()) this->open(endpoint.protocol(), ec);
    if (ec) return;
    endpoint_type copy(endpoint);
    io_op op(op_kind::connect, this->descriptor_, copy.data(), copy.size());
    ec = make_error(this->perform_now(op));
  }
  void connect(const endpoint_type& endpoint) {
    error_code ec;
    connect(endpoint, ec);
    throw_if(ec, "connect");
  }

  /// Ends one or both directions; the peer reads eof. Source: shutdown(2).
  void shutdown(int what, error_code& ec) noexcept {
    socket_calls::shutdown(*this->descriptor_, what, ec);
  }
  void shutdown(int what) {
    error_code ec;
    shutdown(what, ec);
    throw_if(ec, "shutdown");
  }

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

  /// Synchronous send and receive under their socket names.
  template <const_buffer_sequence B>
  std::size_t send(const B& buffers) {
    return this->write_some(buffers);
  }
  template <mutable_buffer_sequence B>
  std::size_t receive(const B& buffers) {
    return this->read_some(buffers);
  }
  template <const_buffer_sequence B, class... Token>
  auto async_send(const B& buffers, Token&&... token) {
    return this->async_write_some(buffers, static_cast<Token&&>(token)...);
  }
  template <mutable_buffer_sequence B, class... Token>
  auto async_receive(const B& buffers, Token&&... token) {
    return this->async_read_some(buffers, static_cast<Token&&>(token)...);
  }
};

}  // namespace beck
