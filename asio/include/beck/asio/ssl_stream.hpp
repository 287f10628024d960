// SPDX-License-Identifier: BSL-1.0
// ssl::stream: TLS over any stream. An operation calls OpenSSL, sends the output, receives input
// while OpenSSL wants some, and calls again. Several operations share the transport: one receives
// and one sends at a time, and what OpenSSL has written is sent in its order by whichever operation
// sends, so that an answer that a read has made (new keys) never waits for the write in flight.
#pragma once

#include <beck/asio/buffer.hpp>
#include <beck/asio/ssl_context.hpp>
#include <beck/asio/ssl_engine.hpp>
#include <beck/asio/token.hpp>
#include <beck/detail/composed_operation.hpp>
#include <beck/io/generic_stream.hpp>

BECK_ASIO_BEGIN

namespace ssl {

namespace detail {

// The calls of OpenSSL that operations repeat until they have their input. `sends`: the operation
// completes only when the output of its call is sent.

/// A handshake.
class handshake_call {
 public:
  static constexpr bool sends = true;
  explicit handshake_call(stream_base::handshake_type type) noexcept : type_(type) {}
  outcome operator()(engine& e) const noexcept { return e.handshake(type_); }

 private:
  stream_base::handshake_type type_;
};

/// A handshake whose first input is in buffers. Its result is the number of bytes used of them.
template <class Buffers>
class buffered_handshake_call {
 public:
  static constexpr bool sends = true;
  buffered_handshake_call(stream_base::handshake_type type, const Buffers& buffers)
      : type_(type), buffers_(buffers) {}
  outcome operator()(engine& e) noexcept {
    for (;;) {
      outcome result = e.handshake(type_);
      result.bytes = taken_;
      if (!result.wants_input) return result;
      const auto rest = beck::detail::part_of<beck::const_buffer>(buffers_.get(), taken_,
                                                                  static_cast<std::size_t>(-1));
      if (rest.size() == 0) return result;
      const std::size_t bytes = beck::buffer_copy(e.room(), rest);
      e.received(bytes);
      taken_ += bytes;
    }
  }

 private:
  stream_base::handshake_type type_;
  beck::detail::kept_sequence<Buffers> buffers_;
  std::size_t taken_ = 0;
};

/// A shutdown.
class shutdown_call {
 public:
  static constexpr bool sends = true;
  outcome operator()(engine& e) const noexcept { return e.shutdown(); }
};

/// A read into the first buffer that is not empty.
class read_call {
 public:
  static constexpr bool sends = false;
  template <class Buffers>
  explicit read_call(const Buffers& buffers) noexcept
      : to_(beck::detail::part_of<beck::mutable_buffer>(buffers, 0, static_cast<std::size_t>(-1))) {
  }
  outcome operator()(engine& e) const noexcept { return e.read(to_); }

 private:
  beck::mutable_buffer to_;
};

/// A write of one buffer.
class write_call {
 public:
  static constexpr bool sends = true;
  explicit write_call(const beck::const_buffer& from) noexcept : from_(from) {}
  outcome operator()(engine& e) const noexcept { return e.write(from_); }

 private:
  beck::const_buffer from_;
};

/// A write of several buffers: small ones are copied together into one record.
class gathered_write_call {
 public:
  static constexpr bool sends = true;
  template <class Buffers>
  explicit gathered_write_call(const Buffers& buffers) noexcept
      : parts_(buffers, 0, static_cast<std::size_t>(-1)) {}
  outcome operator()(engine& e) const noexcept {
    if (parts_.begin() == parts_.end()) return outcome();
    char together[8192];
    if (parts_.begin()->size() >= sizeof together || parts_.begin() + 1 == parts_.end()) {
      return e.write(*parts_.begin());
    }
    return e.write({together, beck::buffer_copy(beck::buffer(together), parts_)});
  }

 private:
  beck::detail::buffer_parts<beck::const_buffer> parts_;
};

template <class Buffers>
using write_call_of =
    std::conditional_t<beck::detail::single_buffer<Buffers>, write_call, gathered_write_call>;

/// The steps of an asynchronous operation.
template <class Transport, class Call>
class operation_steps {
 public:
  operation_steps(Transport& transport, const std::shared_ptr<engine>& shared, const Call& call)
      : transport_(&transport), engine_(shared), call_(call) {}

  template <class Self>
  void operator()(Self& self) {
    const auto slot = beck::get_associated_cancellation_slot(self.wrapped_handler());
    requests_ = beck::cancellation_state(slot);  // passes on terminal requests only
    go_on(self);
  }
  template <class Self>
  void operator()(Self& self, const beck::error_code& ec, std::size_t bytes = 0) {
    engine& e = *engine_;
    if (step_ == step::receive) {
      e.received(bytes);
      e.receives.leave();
    } else if (step_ == step::send) {
      e.sent(bytes);
      e.sends.leave();
    } else {
      (step_ == step::wait_to_receive ? e.receives : e.sends).end_wait();
    }
    const bool is_own = step_ == step::receive || step_ == step::send;
    const bool is_sent = step_ == step::send && !ec;
    if (!(ec && is_own) && !e.is_closed() && !requests_.cancelled()) {
      go_on(self);
    } else if (ended_ && (is_sent || !Call::sends || result_.ec)) {
      end(self, result_.ec);  // an answer, or an alert, need not be sent
    } else {
      end(self, ec && is_own ? e.explain(ec) : make_error_code(beck::error::operation_aborted));
    }
  }

 private:
  enum class step : unsigned char { receive, send, wait_to_receive, wait_to_send };

  template <class Self>
  void go_on(Self& self) {
    engine& e = *engine_;
    Transport& transport = *transport_;
    if (!ended_) {
      result_ = call_(e);
      ended_ = !result_.wants_input;
    }
    const bool is_left_to_others = ended_ && !Call::sends && e.sends.is_awaited();
    if (e.has_output() && !e.sends.is_used() && !is_left_to_others) {
      step_ = step::send;
      e.sends.use();
      beck::async_write(transport, e.to_send(), next(self));
    } else if (ended_ && Call::sends && e.sends.is_used()) {
      step_ = step::wait_to_send;
      e.sends.async_wait(executor(), next(self));
    } else if (ended_) {
      end(self, result_.ec);
    } else if (!e.receives.is_used()) {
      step_ = step::receive;
      e.receives.use();
      transport.async_read_some(e.room(), next(self));
    } else {
      step_ = step::wait_to_receive;
      e.receives.async_wait(executor(), next(self));
    }
  }

  /// Returns the handler of the next step, which takes this object with it.
  template <class Self>
  auto next(Self& self) {
    return beck::bind_cancellation_slot(requests_.slot(), static_cast<Self&&>(self));
  }
  beck::any_io_executor executor() const {
    return beck::any_io_executor(transport_->get_executor());
  }

  template <class Self>
  void end(Self& self, const beck::error_code& ec) {
    beck::get_associated_cancellation_slot(self.wrapped_handler()).clear();
    const std::size_t bytes = ec ? 0 : result_.bytes;
    if constexpr (requires { self.complete(ec, bytes); }) {
      self.complete(ec, bytes);
    } else {
      self.complete(ec);
    }
  }

  Transport* transport_;
  std::shared_ptr<engine> engine_;
  Call call_;
  outcome result_;
  beck::cancellation_state requests_;
  step step_ = step::receive;
  bool ended_ = false;
};

/// Performs an operation on the calling thread. Returns the number of bytes. If the transport would
/// block, the output of a call that has succeeded is sent by the next operation.
template <class Transport>
std::size_t send_now(Transport& transport, beck::const_buffer data,
                     BECK_ASIO::facade::program_code& ec) {
  std::size_t sent = 0;
  while (sent < data.size() && !ec) sent += transport.write_some(data + sent, ec);
  return sent;
}
template <class Transport, class Call>
std::size_t perform_now(Transport& transport, engine& e, Call call, beck::error_code& ec) {
  for (;;) {
    const outcome result = call(e);
    BECK_ASIO::facade::program_code failed;  // transports may be the program's
    ec.clear();
    if (e.has_output()) {
      e.sent(ssl::detail::send_now(transport, e.to_send(), failed));
      ec = failed;
      const bool is_kept = ec == beck::error::would_block && !result.wants_input;
      if (ec && !result.ec && !is_kept) break;
    }
    if (!result.wants_input) {
      ec = result.ec;
      return ec ? 0 : result.bytes;
    }
    e.received(transport.read_some(e.room(), failed));
    ec = failed;
    if (ec) break;
  }
  ec = e.explain(ec);
  return 0;
}

}  // namespace detail

/// TLS over a stream: `Stream` is its type, or a reference to one that lives elsewhere. Functions
/// that take no error_code throw io_error. A read and a write may be in flight at once; a shutdown
/// beside a read waits for the peer's close_notify through it. Movable while no operation is in
/// flight. Errors: eof after the peer's close_notify; ssl::error::stream_truncated if the transport
/// ends without it; those of OpenSSL (error::get_ssl_category()) and of the transport. Thread: one
/// at a time for all of its operations: several threads need a strand. Cancellation: terminal
/// requests; afterwards the stream may only be closed. Destroying it ends operations in flight.
template <class Stream>
class stream : public stream_base {
  template <class S>
  static auto& lowest_of(S& layer) noexcept {
    if constexpr (requires { layer.lowest_layer(); }) {
      return layer.lowest_layer();
    } else {
      return layer;
    }
  }

 public:
  /// The type of native_handle().
  using native_handle_type = SSL*;
  /// The transport.
  using next_layer_type = std::remove_reference_t<Stream>;
  /// The transport at the bottom, such as the socket.
  using lowest_layer_type =
      std::remove_reference_t<decltype(lowest_of(std::declval<next_layer_type&>()))>;
  /// The executor of the transport.
  using executor_type =
      std::remove_cvref_t<decltype(std::declval<next_layer_type&>().get_executor())>;
  /// The same type over a transport with another executor.
  template <class Other>
  struct rebind_executor {
    using other = stream<typename next_layer_type::template rebind_executor<Other>::other>;
  };

  /// Makes a stream with `settings`, whose transport is made from `arg`. The sizes are those of one
  /// receive and of one write; 0: one record.
  template <class Arg>
  stream(Arg&& arg, context& settings, std::size_t input_bytes = 0, std::size_t output_bytes = 0)
      : stream(static_cast<Arg&&>(arg), SSL_new(settings.native_handle()), input_bytes,
               output_bytes) {}
  /// Makes a stream of `handle`, which it owns from then on.
  template <class Arg>
  stream(Arg&& arg, native_handle_type handle, std::size_t input_bytes = 0,
         std::size_t output_bytes = 0)
      : engine_(std::make_shared<detail::engine>(handle, input_bytes, output_bytes)),
        next_layer_(static_cast<Arg&&>(arg)) {}
  /// Takes over the connection of `other`, which may then only be destroyed and assigned to.
  stream(stream&& other) = default;
  stream& operator=(stream&& other) {
    if (this == &other) return *this;
    close();
    engine_ = static_cast<std::shared_ptr<detail::engine>&&>(other.engine_);
    next_layer_ = static_cast<Stream&&>(other.next_layer_);
    return *this;
  }
  ~stream() { close(); }

  /// Returns the executor of the transport.
  executor_type get_executor() noexcept { return next_layer_.get_executor(); }
  /// Returns OpenSSL's object, which the stream keeps owning.
  native_handle_type native_handle() noexcept { return engine_->native_handle(); }
  /// Returns the transport.
  next_layer_type& next_layer() noexcept { return next_layer_; }
  const next_layer_type& next_layer() const noexcept { return next_layer_; }
  /// Returns the transport at the bottom.
  lowest_layer_type& lowest_layer() noexcept { return lowest_of(next_layer_); }
  const lowest_layer_type& lowest_layer() const noexcept { return lowest_of(next_layer_); }

  /// Sets whether the certificate of the peer is verified, for this stream only.
  void set_verify_mode(verify_mode mode) {
    SSL_set_verify(native_handle(), mode, SSL_get_verify_callback(native_handle()));
  }
  beck::error_code set_verify_mode(verify_mode mode, beck::error_code& ec) {
    return set_verify_mode(mode), ec = beck::error_code();
  }
  /// Sets how many issuers a certificate may have, one above the other.
  void set_verify_depth(int depth) { SSL_set_verify_depth(native_handle(), depth); }
  beck::error_code set_verify_depth(int depth, beck::error_code& ec) {
    return set_verify_depth(depth), ec = beck::error_code();
  }
  /// Sets the function that decides about each certificate of a chain: `bool(bool preverified,
  /// verify_context&)`. An exception refuses.
  template <class Function>
  void set_verify_callback(Function function) {
    engine_->set_verify_callback(static_cast<Function&&>(function));
  }
  template <class Function>
  beck::error_code set_verify_callback(Function function, beck::error_code& ec) {
    return set_verify_callback(static_cast<Function&&>(function)), ec = beck::error_code();
  }

  /// Performs the handshake on the calling thread.
  void handshake(handshake_type type) {
    beck::error_code ec;
    beck::detail::throw_if(handshake(type, ec), "handshake");
  }
  beck::error_code handshake(handshake_type type, beck::error_code& ec) {
    perform(detail::handshake_call(type), ec);
    return ec;
  }
  /// As above, with input that was read from the transport before.
  template <beck::const_buffer_sequence Buffers>
  void handshake(handshake_type type, const Buffers& buffers) {
    beck::error_code ec;
    beck::detail::throw_if(handshake(type, buffers, ec), "handshake");
  }
  template <beck::const_buffer_sequence Buffers>
  beck::error_code handshake(handshake_type type, const Buffers& buffers, beck::error_code& ec) {
    perform(detail::buffered_handshake_call<Buffers>(type, buffers), ec);
    return ec;
  }
  /// Starts the handshake. `token` takes (error_code).
  template <class Token = beck::default_completion_token_t<executor_type>>
    requires(!beck::const_buffer_sequence<std::remove_cvref_t<Token>>)
  auto async_handshake(handshake_type type, Token&& token = Token()) {
    return start<void(beck::error_code), Token>(detail::handshake_call(type), token);
  }
  /// As above, with input that was read from the transport before. `token` takes (error_code,
  /// std::size_t): the number of its bytes that were used; the stream keeps what follows the
  /// handshake.
  template <beck::const_buffer_sequence Buffers,
            class Token = beck::default_completion_token_t<executor_type>>
  auto async_handshake(handshake_type type, const Buffers& buffers, Token&& token = Token()) {
    return start<void(beck::error_code, std::size_t), Token>(
        detail::buffered_handshake_call<Buffers>(type, buffers), token);
  }

  /// Sends close_notify and waits for that of the peer, on the calling thread.
  void shutdown() {
    beck::error_code ec;
    beck::detail::throw_if(shutdown(ec), "shutdown");
  }
  beck::error_code shutdown(beck::error_code& ec) {
    perform(detail::shutdown_call(), ec);
    return ec;
  }
  /// Starts sending close_notify and waiting for that of the peer. `token` takes (error_code).
  template <class Token = beck::default_completion_token_t<executor_type>>
  auto async_shutdown(Token&& token = Token()) {
    return start<void(beck::error_code), Token>(detail::shutdown_call(), token);
  }

  /// Sends at least one byte on the calling thread. Returns the number of bytes.
  template <beck::const_buffer_sequence Buffers>
  std::size_t write_some(const Buffers& buffers) {
    beck::error_code ec;
    const std::size_t bytes = write_some(buffers, ec);
    beck::detail::throw_if(ec, "write_some");
    return bytes;
  }
  template <beck::const_buffer_sequence Buffers>
  std::size_t write_some(const Buffers& buffers, beck::error_code& ec) {
    return perform(detail::write_call_of<Buffers>(buffers), ec);
  }
  /// Starts sending at least one byte. `token` takes (error_code, std::size_t).
  template <beck::const_buffer_sequence Buffers,
            class Token = beck::default_completion_token_t<executor_type>>
  auto async_write_some(const Buffers& buffers, Token&& token = Token()) {
    return start<void(beck::error_code, std::size_t), Token>(
        detail::write_call_of<Buffers>(buffers), token);
  }
  /// Receives at least one byte on the calling thread. Returns the number of bytes.
  template <beck::mutable_buffer_sequence Buffers>
  std::size_t read_some(const Buffers& buffers) {
    beck::error_code ec;
    const std::size_t bytes = read_some(buffers, ec);
    beck::detail::throw_if(ec, "read_some");
    return bytes;
  }
  template <beck::mutable_buffer_sequence Buffers>
  std::size_t read_some(const Buffers& buffers, beck::error_code& ec) {
    return perform(detail::read_call(buffers), ec);
  }
  /// Starts receiving at least one byte. `token` takes (error_code, std::size_t).
  template <beck::mutable_buffer_sequence Buffers,
            class Token = beck::default_completion_token_t<executor_type>>
  auto async_read_some(const Buffers& buffers, Token&& token = Token()) {
    return start<void(beck::error_code, std::size_t), Token>(detail::read_call(buffers), token);
  }

 private:
  template <class Signature, class Token, class Call>
  auto start(const Call& call, std::type_identity_t<Token>& token) {
    return beck::async_compose<Token, Signature>(
        detail::operation_steps<next_layer_type, Call>(next_layer_, engine_, call), token,
        next_layer_);
  }
  template <class Call>
  std::size_t perform(const Call& call, beck::error_code& ec) {
    return detail::perform_now(next_layer_, *engine_, call, ec);
  }
  void close() noexcept {
    if (engine_ != nullptr) engine_->close();
  }

  std::shared_ptr<detail::engine> engine_;  // closed before the transport is destroyed
  Stream next_layer_;
};

}  // namespace ssl

BECK_ASIO_END
