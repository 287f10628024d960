// SPDX-License-Identifier: BSL-1.0
// The typed face that stream sockets and acceptors share: protocol, endpoints, options, executor.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/detail/socket_object.hpp>
#include <beck/detail/typed_executor.hpp>

namespace beck {

/// Requires: Protocol has endpoint, family(), type(), protocol(). Base is io_object or
/// stream_object. Thread, cancellation, lifetime: as io_object. Each throwing form throws io_error.
template <class Base, class Protocol, class Executor>
class basic_socket : public Base, public socket_base {
 public:
  using executor_type = Executor;
  using protocol_type = Protocol;
  using endpoint_type = typename Protocol::endpoint;
  using shutdown_type = int;  // shutdown_receive, shutdown_send, shutdown_both

  executor_type get_executor() const noexcept { return typed_.get(this->object_executor()); }

  void open(const Protocol& protocol, error_code& ec) {
    detail::socket_calls::open(*this->slot_to_open(), protocol.family(), protocol.type(),
                               protocol.protocol(), ec);
  }
  void open(const Protocol& protocol) {
    error_code ec;
    open(protocol, ec);
    detail::throw_if(ec, "open");
  }

  /// Takes over a descriptor that was made elsewhere (inherited, socket activation) and makes it
  /// non-blocking and close-on-exec.
  void assign(const Protocol&, int handle, error_code& ec) noexcept {
    detail::socket_calls::adopt(*this->slot_to_open(), handle, ec);
  }
  void assign(const Protocol& protocol, int handle) {
    error_code ec;
    assign(protocol, handle, ec);
    detail::throw_if(ec, "assign");
  }

  /// Gives the socket to another io_context, with all its options: from then on it belongs to that
  /// context's thread. Requires that it is open and that no operation of it is under way, and a
  /// caller who may run the context that has it: inside of it, or while nobody runs it. Errors:
  /// EBADF, EBUSY (it stays where it was), operation_not_supported in a simulation. Throws
  /// std::bad_alloc.
  void move_to(const Executor& executor, error_code& ec) {
    this->move_to_executor(any_io_executor(executor), ec);
    if (!ec) typed_ = detail::typed_executor<Executor>(executor);
  }
  void move_to(const Executor& executor) {
    error_code ec;
    move_to(executor, ec);
    detail::throw_if(ec, "move_to");
  }
  void move_to(io_context& context, error_code& ec)
    requires std::is_convertible_v<io_context::executor_type, Executor>
  {
    move_to(Executor(context.get_executor()), ec);
  }
  void move_to(io_context& context)
    requires std::is_convertible_v<io_context::executor_type, Executor>
  {
    move_to(Executor(context.get_executor()));
  }

  void bind(const endpoint_type& endpoint, error_code& ec) noexcept {
    detail::socket_calls::bind(*this->descriptor_, endpoint.data(), endpoint.size(), ec);
  }
  void bind(const endpoint_type& endpoint) {
    error_code ec;
    bind(endpoint, ec);
    detail::throw_if(ec, "bind");
  }

  template <class Option>
  void set_option(const Option& option, error_code& ec) noexcept {
    detail::socket_calls::set_option(*this->descriptor_, option.level(), option.name(),
                                     option.data(), option.size(), ec);
  }
  template <class Option>
  void set_option(const Option& option) {
    error_code ec;
    set_option(option, ec);
    detail::throw_if(ec, "set_option");
  }
  template <class Option>
  void get_option(Option& option, error_code& ec) const noexcept {
    detail::socket_calls::get_option(*this->descriptor_, option.level(), option.name(),
                                     option.data(), option.size(), ec);
  }
  template <class Option>
  void get_option(Option& option) const {
    error_code ec;
    get_option(option, ec);
    detail::throw_if(ec, "get_option");
  }

  endpoint_type local_endpoint(error_code& ec) const {
    endpoint_type endpoint;
    std::size_t bytes = endpoint.capacity();
    detail::socket_calls::local_name(*this->descriptor_, endpoint.data(), bytes, ec);
    if (!ec) endpoint.resize(bytes);
    return endpoint;
  }
  endpoint_type local_endpoint() const {
    error_code ec;
    const endpoint_type endpoint = local_endpoint(ec);
    detail::throw_if(ec, "local_endpoint");
    return endpoint;
  }

  /// Completes when the socket is readable, writable, or has a pending error, without transferring
  /// anything. Waits of one direction take their turn among its reads or writes. Source: poll(2).
  detail::void_operation async_wait(wait_type what) noexcept {
    return detail::void_operation(kind_of(what), this->descriptor_, nullptr, 0);
  }
  template <class Token>
  auto async_wait(wait_type what, Token&& token) {
    return detail::launch(async_wait(what), static_cast<Token&&>(token));
  }
  void wait(wait_type what, error_code& ec) {
    auto op = async_wait(what);
    ec = detail::make_error(this->perform_now(op));
  }
  void wait(wait_type what) {
    error_code ec;
    wait(what, ec);
    detail::throw_if(ec, "wait");
  }

 protected:
  explicit basic_socket(const Executor& executor)
      : Base(any_io_executor(executor)), typed_(executor) {}
  basic_socket(io_context& context, const Executor& executor)
      : Base(context, any_io_executor(executor)), typed_(executor) {}
  basic_socket(basic_socket&&) noexcept = default;
  basic_socket& operator=(basic_socket&&) noexcept = default;
  ~basic_socket() = default;

 private:
  static detail::op_kind kind_of(wait_type what) noexcept {
    return what == socket_base::wait_read    ? detail::op_kind::wait_read
           : what == socket_base::wait_write ? detail::op_kind::wait_write
                                             : detail::op_kind::wait_error;
  }

  [[no_unique_address]] detail::typed_executor<Executor> typed_;
};

}  // namespace beck
