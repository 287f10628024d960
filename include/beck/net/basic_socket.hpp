// SPDX-License-Identifier: BSL-1.0
// basic_socket: the typed interface that all sockets and acceptors share: protocol, endpoints,
// options, executor.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/detail/socket_object.hpp>
#include <beck/detail/typed_executor.hpp>

namespace beck {

namespace detail {

/// An option of a program that is asked with the protocol, as Asio's options are.
template <class Option, class Protocol>
concept protocol_option = requires(const Option& option, const Protocol& protocol) {
  option.level(protocol);
  option.name(protocol);
};

}  // namespace detail

/// The common base of sockets and acceptors. Requires: Protocol has endpoint, family(), type(),
/// protocol(). Base is io_object or stream_object.
/// Thread, cancellation, lifetime: as io_object. A function without `ec` throws io_error on
/// failure. If the socket is closed, functions fail with bad_descriptor, except open() and
/// assign().
template <class Base, class Protocol, class Executor>
class basic_socket : public Base, public socket_base {
 public:
  /// The type of the executor.
  using executor_type = Executor;
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;

  /// Returns the executor that operations complete on.
  executor_type get_executor() const noexcept { return typed_.get(this->object_executor()); }

  /// Opens the socket. Errors: already_open; those of socket(2), such as no_descriptors.
  error_code open(const Protocol& protocol, error_code& ec) {
    detail::socket_calls::open(*this->slot_to_open(), protocol.family(), protocol.type(),
                               protocol.protocol(), ec);
    return ec;
  }
  /// As above, and throws on failure.
  void open(const Protocol& protocol) {
    error_code ec;
    open(protocol, ec);
    detail::throw_if(ec, "open");
  }

  /// Takes over a descriptor that was made elsewhere (inherited, socket activation) and makes it
  /// non-blocking and close-on-exec. Errors: already_open, bad_descriptor; the caller then still
  /// owns `handle`.
  error_code assign(const Protocol&, int handle, error_code& ec) noexcept {
    detail::socket_calls::adopt(*this->slot_to_open(), handle, ec);
    return ec;
  }
  /// As above, and throws on failure.
  void assign(const Protocol& protocol, int handle) {
    error_code ec;
    assign(protocol, handle, ec);
    detail::throw_if(ec, "assign");
  }

  /// Moves the socket, with all its options, to the io_context of `executor`: from then on it
  /// belongs to that context's thread. Requires that the caller may run its present context: is
  /// inside of it, or no thread runs it.
  /// Errors: bad_descriptor; std::errc::device_or_resource_busy if an operation is under way or
  /// another thread runs its context; operation_not_supported in a simulation. The socket then
  /// stays where it is. Throws std::bad_alloc.
  void move_to(const Executor& executor, error_code& ec) {
    this->move_to_executor(any_io_executor(executor), ec);
    if (!ec) typed_ = detail::typed_executor<Executor>(executor);
  }
  /// As above, and throws on failure.
  void move_to(const Executor& executor) {
    error_code ec;
    move_to(executor, ec);
    detail::throw_if(ec, "move_to");
  }
  /// As above, to the executor of `context`.
  void move_to(io_context& context, error_code& ec)
    requires std::is_convertible_v<io_context::executor_type, Executor>
  {
    move_to(Executor(context.get_executor()), ec);
  }
  /// As above, to the executor of `context`, and throws on failure.
  void move_to(io_context& context)
    requires std::is_convertible_v<io_context::executor_type, Executor>
  {
    move_to(Executor(context.get_executor()));
  }

  /// Binds the socket to a local endpoint. Errors: those of bind(2), such as address_in_use.
  error_code bind(const endpoint_type& endpoint, error_code& ec) noexcept {
    detail::socket_calls::bind(*this->descriptor_, endpoint.data(), endpoint.size(), ec);
    return ec;
  }
  /// As above, and throws on failure; the text of the exception shows the endpoint.
  void bind(const endpoint_type& endpoint) {
    error_code ec;
    bind(endpoint, ec);
    detail::throw_if(ec, "bind", endpoint);
  }

  /// Sets an option (net/socket_option.hpp), or one of a program's own: a class with level(),
  /// name(), data() and size(), with or without a parameter for the protocol. Errors: those of
  /// setsockopt(2), such as no_protocol_option.
  template <class Option>
  error_code set_option(const Option& option, error_code& ec) noexcept {
    if constexpr (detail::protocol_option<Option, Protocol>) {
      const Protocol p = own_protocol();
      detail::socket_calls::set_option(*this->descriptor_, option.level(p), option.name(p),
                                       option.data(p), option.size(p), ec);
    } else {
      detail::socket_calls::set_option(*this->descriptor_, option.level(), option.name(),
                                       option.data(), option.size(), ec);
    }
    return ec;
  }
  /// As above, and throws on failure.
  template <class Option>
  void set_option(const Option& option) {
    error_code ec;
    set_option(option, ec);
    detail::throw_if(ec, "set_option");
  }
  /// Reads an option into `option`. Errors: those of getsockopt(2), such as no_protocol_option.
  template <class Option>
  error_code get_option(Option& option, error_code& ec) const noexcept {
    if constexpr (detail::protocol_option<Option, Protocol>) {
      const Protocol p = own_protocol();
      const std::size_t bytes = detail::socket_calls::get_option(
          *this->descriptor_, option.level(p), option.name(p), option.data(p), option.size(p), ec);
      if (!ec) option.resize(p, bytes);
    } else {
      detail::socket_calls::get_option(*this->descriptor_, option.level(), option.name(),
                                       option.data(), option.size(), ec);
    }
    return ec;
  }
  /// As above, and throws on failure.
  template <class Option>
  void get_option(Option& option) const {
    error_code ec;
    get_option(option, ec);
    detail::throw_if(ec, "get_option");
  }

  /// Returns the endpoint that the socket is bound to. Source: getsockname(2).
  endpoint_type local_endpoint(error_code& ec) const {
    endpoint_type endpoint;
    std::size_t bytes = endpoint.capacity();
    detail::socket_calls::local_name(*this->descriptor_, endpoint.data(), bytes, ec);
    if (!ec) endpoint.resize(bytes);
    return endpoint;
  }
  /// As above, and throws on failure.
  endpoint_type local_endpoint() const {
    error_code ec;
    const endpoint_type endpoint = local_endpoint(ec);
    detail::throw_if(ec, "local_endpoint");
    return endpoint;
  }

  /// Completes when the socket is readable, writable, or has a pending error, without transferring
  /// anything. A wait takes its turn among the reads or writes of its direction. Completes with
  /// (error_code). Source: poll(2).
  detail::void_operation async_wait(wait_type what) noexcept {
    return detail::void_operation(kind_of(what), this->descriptor_, nullptr, 0);
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_wait(wait_type what, Token&& token) {
    return detail::launch(async_wait(what), static_cast<Token&&>(token));
  }
  /// Blocks until the socket is ready, or fails with would_block if non_blocking().
  error_code wait(wait_type what, error_code& ec) {
    auto op = async_wait(what);
    ec = detail::make_error(this->perform_now(op));
    return ec;
  }
  /// As above, and throws on failure.
  void wait(wait_type what) {
    error_code ec;
    wait(what, ec);
    detail::throw_if(ec, "wait");
  }

 protected:
  /// Makes a closed socket on `executor`.
  explicit basic_socket(const Executor& executor)
      : Base(any_io_executor(executor)), typed_(executor) {}
  /// Makes a closed socket that `context` drives, and whose operations complete on `executor`.
  basic_socket(io_context& context, const Executor& executor)
      : Base(context, any_io_executor(executor)), typed_(executor) {}
  template <class OtherProtocol, class Other>
  explicit basic_socket(basic_socket<Base, OtherProtocol, Other>&& other) noexcept
      : Base(static_cast<Base&&>(other)), typed_(other.get_executor()) {}
  basic_socket(basic_socket&&) noexcept = default;
  basic_socket& operator=(basic_socket&&) noexcept = default;
  ~basic_socket() = default;

 private:
  /// Returns the protocol of the open socket, for options that ask for it.
  Protocol own_protocol() const noexcept {
    [[maybe_unused]] error_code ec;
    if constexpr (requires { Protocol::v6(); }) {
      constexpr Protocol v6 = Protocol::v6();
      return detail::socket_calls::family_of(*this->descriptor_, ec) == v6.family()
                 ? v6
                 : Protocol::v4();
    } else if constexpr (requires { Protocol(0, 0); }) {
      return Protocol(detail::socket_calls::family_of(*this->descriptor_, ec), 0);
    } else {
      return Protocol();
    }
  }
  static detail::op_kind kind_of(wait_type what) noexcept {
    return what == socket_base::wait_read    ? detail::op_kind::wait_read
           : what == socket_base::wait_write ? detail::op_kind::wait_write
                                             : detail::op_kind::wait_error;
  }

  [[no_unique_address]] detail::typed_executor<Executor> typed_;
};

}  // namespace beck
