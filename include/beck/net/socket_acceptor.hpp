// SPDX-License-Identifier: BSL-1.0
// basic_socket_acceptor: listens and accepts, with Asio's interface.
#pragma once

#include <concepts>
#include <type_traits>

#include <beck/net/stream_socket.hpp>

namespace beck {

namespace detail {

/// An accept; owns the new descriptor until the result is taken, so that none leaks on any path,
/// and the slot of the new socket from the start, so that completing never allocates. A socket of
/// another context is made at the end instead: before, that context may be destroyed.
template <class Socket>
class [[nodiscard]] accept_operation : public operation {
 public:
  using signature = void(error_code, Socket);

  using endpoint_type = typename Socket::endpoint_type;

  /// Makes the operation. `socket` belongs to the context of `d`. `elsewhere`: the other context
  /// whose socket is wanted, or nullptr.
  accept_operation(descriptor* d, Socket&& socket, endpoint_type* peer = nullptr,
                   io_context* elsewhere = nullptr) noexcept
      : operation(op_kind::accept, d, peer != nullptr ? peer->data() : nullptr,
                  peer != nullptr ? endpoint_type::capacity() : 0),
        socket_(static_cast<Socket&&>(socket)),
        peer_(peer),
        elsewhere_(elsewhere) {
    result = -1;
  }
  accept_operation(accept_operation&& other) noexcept
      : operation(static_cast<operation&&>(other)),
        socket_(static_cast<Socket&&>(other.socket_)),
        peer_(other.peer_),
        elsewhere_(other.elsewhere_) {
    result = std::exchange(other.result, -1);
  }
  accept_operation& operator=(accept_operation&&) = delete;
  ~accept_operation() {
    if (result >= 0) socket_calls::close_number(*target, result);
  }

  io_result<Socket> await_resume() noexcept {
    result_error ec = this->error();
    if (!ec && elsewhere_ != nullptr) {
      try {
        socket_ = Socket(*elsewhere_);
      } catch (...) {
        ec = error::make_error_code(error::no_memory);
      }
    }
    if (!ec) {
      ec = socket_calls::open_accepted(*socket_.slot(), *target, std::exchange(result, -1),
                                       Socket::protocol_type::protocol());
    }
    if (!ec && peer_ != nullptr) peer_->resize(length);
    return io_result<Socket>(ec, static_cast<Socket&&>(socket_));
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<accept_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  Socket socket_;
  endpoint_type* peer_;
  io_context* elsewhere_;
};

/// An accept into a socket of the caller's, which must be closed and must outlive the operation.
/// Errors: already_open, with the connection left for the next accept if the socket was open from
/// the start.
class [[nodiscard]] accept_into_operation : public begun_by<accept_into_operation, void_operation> {
 public:
  accept_into_operation(descriptor* d, stream_object& peer, int protocol, void* name = nullptr,
                        std::size_t capacity = 0) noexcept
      : begun_by(op_kind::accept, d, name, capacity), peer_(&peer), protocol_(protocol) {
    result = -1;
  }
  accept_into_operation(accept_into_operation&& other) noexcept
      : begun_by(static_cast<begun_by&&>(other)), peer_(other.peer_), protocol_(other.protocol_) {
    result = std::exchange(other.result, -1);
  }
  accept_into_operation& operator=(accept_into_operation&&) = delete;
  ~accept_into_operation() {
    if (result >= 0) socket_calls::close_number(*target, result);
  }

  bool await_ready() noexcept { return refuse() || void_operation::await_ready(); }
  void begin() noexcept {
    if (refuse()) {
      complete_later(*this, result);
    } else {
      start_operation(*this);
    }
  }
  bool begin_immediate() noexcept { return refuse() || start_operation_immediate(*this); }

  io_result<> await_resume() noexcept {
    if (result < 0) return io_result<>(error());
    return io_result<>(
        socket_calls::open_accepted(*peer_->slot(), *target, std::exchange(result, -1), protocol_));
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<accept_into_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  bool refuse() noexcept {
    const int refused = socket_calls::openable(*peer_->slot_to_open());
    if (refused == 0) return false;
    result = refused;
    return true;
  }

  stream_object* peer_;
  int protocol_;
};

/// An accept into a socket of the caller's that also writes the peer's endpoint.
template <class Endpoint>
class [[nodiscard]] accept_from_operation : public accept_into_operation {
 public:
  accept_from_operation(descriptor* d, stream_object& peer, Endpoint& endpoint,
                        int protocol) noexcept
      : accept_into_operation(d, peer, protocol, endpoint.data(), Endpoint::capacity()),
        endpoint_(&endpoint) {}

  io_result<> await_resume() noexcept {
    const io_result<> accepted = accept_into_operation::await_resume();
    if (!accepted.error()) endpoint_->resize(length);
    return accepted;
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<accept_from_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  Endpoint* endpoint_;
};

/// The context or executor of an accepted socket.
template <class T>
concept accept_place =
    std::is_base_of_v<io_context, std::remove_cvref_t<T>> ||
    (executor_like<std::remove_cvref_t<T>> && !std::is_same_v<std::remove_cvref_t<T>, deferred_t>);
/// The executor type of a socket that is accepted on a context or an executor.
template <class Where>
struct accept_executor : std::type_identity<Where> {};
template <std::derived_from<io_context> Where>
struct accept_executor<Where> : std::type_identity<io_context::executor_type> {};

/// An argument of async_accept besides a token.
template <class T, class Endpoint>
concept accept_target =
    accept_place<T> || std::is_base_of_v<io_object, T> || std::is_same_v<T, Endpoint>;

}  // namespace detail

/// A listening socket. Accepting survives errors that are not the listener's: connections that were
/// lost before they were accepted are skipped. Without free descriptors or memory, and after 64
/// lost connections in a row, the accept pauses (10 ms doubling to 1 s, or until this context
/// closes a descriptor), logs one line and goes on. Thread, cancellation: as io_object.
template <class Protocol, class Executor = any_io_executor>
class basic_socket_acceptor : public basic_socket<detail::io_object, Protocol, Executor> {
  using base = basic_socket<detail::io_object, Protocol, Executor>;

 public:
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of accepted sockets.
  using socket_type = basic_stream_socket<Protocol>;
  /// The type of sockets that are accepted on `Where`, a context or an executor: they have the type
  /// of its executor, and convert to socket_type.
  template <class Where>
  using socket_at =
      basic_stream_socket<Protocol,
                          typename detail::accept_executor<std::remove_cvref_t<Where>>::type>;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_socket_acceptor<Protocol, Other>;
  };

  /// Makes a closed acceptor.
  explicit basic_socket_acceptor(io_context& context)
    requires std::is_constructible_v<Executor, io_context::executor_type>
      : base(Executor(context.get_executor())) {}
  /// Makes a closed acceptor whose accepts complete on `executor`. Throws io_error
  /// (invalid_argument) unless its context is an io_context.
  explicit basic_socket_acceptor(const Executor& executor) : base(executor) {}
  /// Makes a closed acceptor that `context` drives, and whose accepts complete on `executor`.
  basic_socket_acceptor(io_context& context, const Executor& executor) : base(context, executor) {}

  /// Takes over an acceptor whose executor has another type.
  template <detail::other_executor<Executor> Other>
  basic_socket_acceptor(basic_socket_acceptor<Protocol, Other>&& other) noexcept
      : base(static_cast<basic_socket<detail::io_object, Protocol, Other>&&>(other)) {}
  /// Makes an open acceptor, to be bound. Throws io_error.
  basic_socket_acceptor(io_context& context, const Protocol& protocol)
      : basic_socket_acceptor(context) {
    this->open(protocol);
  }
  /// As above, on `executor`.
  basic_socket_acceptor(const Executor& executor, const Protocol& protocol)
      : basic_socket_acceptor(executor) {
    this->open(protocol);
  }
  /// Opens, binds and listens. `reuse` sets reuse_address, as in Asio: a server may restart at
  /// once. Throws io_error.
  basic_socket_acceptor(io_context& context, const endpoint_type& endpoint, bool reuse = true)
      : basic_socket_acceptor(context) {
    listen_on(endpoint, reuse);
  }
  /// As above, on `executor`.
  basic_socket_acceptor(const Executor& executor, const endpoint_type& endpoint, bool reuse = true)
      : basic_socket_acceptor(executor) {
    listen_on(endpoint, reuse);
  }
  /// Takes over a listening descriptor (socket activation): see assign(). Throws io_error.
  basic_socket_acceptor(io_context& context, const Protocol& protocol, int handle)
      : basic_socket_acceptor(context) {
    this->assign(protocol, handle);
  }

  /// As above, on `executor`.
  basic_socket_acceptor(const Executor& executor, const Protocol& protocol, int handle)
      : basic_socket_acceptor(executor) {
    this->assign(protocol, handle);
  }

  /// Starts to listen; `backlog` bounds the connections that wait to be accepted. Errors: those of
  /// listen(2), such as address_in_use. Source: listen(2).
  error_code listen(int backlog, error_code& ec) noexcept {
    detail::socket_calls::listen(*this->descriptor_, backlog, ec);
    return ec;
  }
  /// As above, and throws io_error on failure.
  void listen(int backlog = socket_base::max_listen_connections) {
    error_code ec;
    listen(backlog, ec);
    if (!ec) return;
    error_code unknown;
    detail::throw_if(ec, "listen", this->local_endpoint(unknown));
  }

  /// Accepts the next connection, as a socket of this acceptor's context and executor. Completes
  /// with (error_code, socket_type). Starting throws std::bad_alloc; completing never allocates.
  /// Source: accept4(2).
  detail::accept_operation<socket_type> async_accept() {
    return {this->descriptor_, socket_type(context(), this->object_executor())};
  }
  /// As above, with a socket on `where`: whose operations complete on an executor, or of another
  /// context. That must live until the accept completes or this context is destroyed. Completes
  /// with (error_code, socket_at<Where>). Errors for another context: operation_not_supported in a
  /// simulation, no_memory.
  template <class Where>
    requires detail::accept_place<std::decay_t<Where>>
  detail::accept_operation<socket_at<Where>> async_accept(Where&& where) {
    return accept_on<socket_at<Where>>(where);
  }
  /// Accepts into a closed socket of the caller, which must outlive the operation. Completes with
  /// (error_code). Errors: already_open.
  detail::accept_into_operation async_accept(detail::stream_object& peer) {
    return {this->descriptor_, peer, Protocol::protocol()};
  }
  /// Accepts, and writes the peer's endpoint, also that of a peer that has already gone. `endpoint`
  /// must outlive the operation; after an error its value is unspecified.
  detail::accept_operation<socket_type> async_accept(endpoint_type& endpoint) {
    return accept_on<socket_type>(this->object_executor(), &endpoint);
  }
  /// As above, with a socket on `where`, an executor or a context.
  template <class Where>
    requires detail::accept_place<std::decay_t<Where>>
  detail::accept_operation<socket_at<Where>> async_accept(Where&& where, endpoint_type& endpoint) {
    return accept_on<socket_at<Where>>(where, &endpoint);
  }
  /// As above, into a closed socket of the caller.
  detail::accept_from_operation<endpoint_type> async_accept(detail::stream_object& peer,
                                                            endpoint_type& endpoint) {
    return {this->descriptor_, peer, endpoint, Protocol::protocol()};
  }
  /// Accepts the next connection. `token` takes (error_code, socket_type).
  template <class Token>
    requires(!detail::accept_target<std::decay_t<Token>, endpoint_type>)
  auto async_accept(Token&& token) {
    return detail::launch(async_accept(), static_cast<Token&&>(token));
  }
  /// Accepts with one of the targets above: an executor, a context, a socket of the caller or an
  /// endpoint. `token` takes what they complete with.
  template <class Target, class Token>
    requires(detail::accept_target<std::decay_t<Target>, endpoint_type> &&
             !std::is_same_v<std::decay_t<Token>, endpoint_type>)
  auto async_accept(Target&& target, Token&& token) {
    return detail::launch(async_accept(static_cast<Target&&>(target)), static_cast<Token&&>(token));
  }
  /// As above, and writes the peer's endpoint.
  template <class Target, class Token>
  auto async_accept(Target&& target, endpoint_type& endpoint, Token&& token) {
    return detail::launch(async_accept(static_cast<Target&&>(target), endpoint),
                          static_cast<Token&&>(token));
  }

  /// Blocks until there is a connection, and accepts it; fails with would_block if non_blocking().
  /// Unlike async_accept() it reports errors of a single connection and a lack of descriptors.
  socket_type accept(error_code& ec) { return accept_as(socket_on(this->object_executor()), ec); }
  /// As above, and writes the peer's endpoint, as async_accept() does.
  socket_type accept(endpoint_type& endpoint, error_code& ec) {
    return accept_as(socket_on(this->object_executor()), ec, &endpoint);
  }
  /// As above, with a socket on `where`, an executor or a context.
  template <detail::accept_place Where>
  socket_at<Where> accept(Where&& where, error_code& ec) {
    return accept_as(socket_on(where), ec);
  }
  /// As above, with a socket on `where`, and writes the peer's endpoint.
  template <detail::accept_place Where>
  socket_at<Where> accept(Where&& where, endpoint_type& endpoint, error_code& ec) {
    return accept_as(socket_on(where), ec, &endpoint);
  }
  /// Accepts into a closed socket of the caller. Errors: already_open.
  error_code accept(detail::stream_object& peer, error_code& ec) {
    ec = detail::make_error(detail::socket_calls::openable(*peer.slot_to_open()));
    if (!ec) accept_into(*peer.slot(), ec);
    return ec;
  }
  /// As above, and writes the peer's endpoint.
  error_code accept(detail::stream_object& peer, endpoint_type& endpoint, error_code& ec) {
    ec = detail::make_error(detail::socket_calls::openable(*peer.slot_to_open()));
    if (!ec) accept_into(*peer.slot(), ec, &endpoint);
    return ec;
  }
  /// As above with the same arguments, and throws io_error on failure.
  template <class... Args>
    requires(!std::is_convertible_v<Args, error_code&> && ...)
  decltype(auto) accept(Args&&... args) {
    error_code ec;
    if constexpr (std::is_same_v<decltype(this->accept(args..., ec)), error_code>) {
      this->accept(args..., ec);
      detail::throw_if(ec, "accept");
    } else {
      auto socket = this->accept(args..., ec);
      detail::throw_if(ec, "accept");
      return socket;
    }
  }

 protected:
  /// Returns an accept of a Socket on `where`, an executor or a context.
  template <class Socket, class Where>
  detail::accept_operation<Socket> accept_on(Where& where, endpoint_type* peer = nullptr) {
    if constexpr (std::is_base_of_v<io_context, Where>) {
      io_context* const elsewhere = &where != &context() ? &where : nullptr;
      return {this->descriptor_, Socket(context()), peer, elsewhere};
    } else {
      return {this->descriptor_, Socket(context(), typename Socket::executor_type(where)), peer};
    }
  }

 private:
  socket_at<io_context> socket_on(io_context& other) { return socket_at<io_context>(other); }
  template <detail::executor_like Other>
  socket_at<Other> socket_on(const Other& executor) {
    return socket_at<Other>(context(), executor);
  }
  void accept_into(detail::descriptor& slot, error_code& ec, endpoint_type* endpoint = nullptr) {
    detail::io_op op(detail::op_kind::accept, this->descriptor_,
                     endpoint != nullptr ? endpoint->data() : nullptr,
                     endpoint != nullptr ? endpoint_type::capacity() : 0);
    const int result = this->perform_now(op);
    ec = detail::make_error(result);
    if (ec) return;
    ec =
        detail::socket_calls::open_accepted(slot, *this->descriptor_, result, Protocol::protocol());
    if (!ec && endpoint != nullptr) endpoint->resize(op.length);
  }
  template <class Socket>
  Socket accept_as(Socket socket, error_code& ec, endpoint_type* endpoint = nullptr) {
    accept_into(*socket.slot(), ec, endpoint);
    return socket;
  }
  io_context& context() const noexcept {
    return detail::socket_calls::context_of(*this->descriptor_);
  }

  void listen_on(const endpoint_type& endpoint, bool reuse) {
    this->open(endpoint.protocol());
    if (reuse) this->set_option(socket_base::reuse_address(true));
    this->bind(endpoint);
    listen();
  }
};

}  // namespace beck
