// SPDX-License-Identifier: BSL-1.0
//
// TLS over a stream, for programs with their own protocol: reads and writes as on a socket. HTTP
// does not need it: http::server::listen() and http::client::secure() take the contexts themselves.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/adapted_stream.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/detail/vector_operation.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

namespace beck::tls {

class client_context;
class server_context;

namespace detail {

class session;

/// A share of the ownership of a session.
class session_ref {
 public:
  session_ref() noexcept = default;
  /// Takes over a share.
  explicit session_ref(session* owned) noexcept : session_(owned) {}
  session_ref(const session_ref& other) noexcept;
  session_ref(session_ref&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  session_ref& operator=(session_ref&& other) noexcept {
    std::swap(session_, other.session_);
    return *this;
  }
  ~session_ref();

  explicit operator bool() const noexcept { return session_ != nullptr; }
  session& operator*() const noexcept { return *session_; }
  session* operator->() const noexcept { return session_; }

 private:
  session* session_ = nullptr;
};

/// The operation of stream::async_read_some().
class [[nodiscard]] stream_read : public op<stream_read, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "tls read";

  stream_read(session_ref from, mutable_buffer to) noexcept : from_(std::move(from)), to_(to) {}
  stream_read(stream_read&& other) noexcept
      : op(static_cast<op&&>(other)), from_(std::move(other.from_)), to_(other.to_) {}

  any_io_executor get_executor() const noexcept;
  bool ready();
  void initiate(handler done);

 private:
  session_ref from_;
  mutable_buffer to_;
};

/// The operation of stream::async_write_some().
class [[nodiscard]] stream_write : public op<stream_write, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "tls write";
  using parts = beck::detail::buffer_parts<const_buffer>;

  stream_write(session_ref to, const parts& from) noexcept : to_(std::move(to)), from_(from) {}
  stream_write(stream_write&& other) noexcept
      : op(static_cast<op&&>(other)), to_(std::move(other.to_)), from_(other.from_) {}

  any_io_executor get_executor() const noexcept;
  bool ready();
  void initiate(handler done);

 private:
  const_buffer_span data() const noexcept {
    return {from_.begin(), static_cast<std::size_t>(from_.end() - from_.begin())};
  }

  session_ref to_;
  parts from_;
};

/// The operation of stream::async_handshake() and stream::async_shutdown().
class [[nodiscard]] stream_step : public op<stream_step, void(error_code)> {
 public:
  static constexpr const char* waits_for = "tls handshake";
  enum class kind : bool { handshake, shutdown };

  stream_step(session_ref of, kind which) noexcept : of_(std::move(of)), which_(which) {}
  stream_step(stream_step&& other) noexcept
      : op(static_cast<op&&>(other)), of_(std::move(other.of_)), which_(other.which_) {}

  any_io_executor get_executor() const noexcept;
  void initiate(handler done);

 private:
  session_ref of_;
  kind which_;
};

}  // namespace detail

/// A stream of TLS over another stream, which it owns. The first operation, or async_handshake(),
/// performs the handshake. One read and one write may be under way at once. async_read(),
/// async_write() and async_read_until() work on it.
///   tls::stream s(std::move(socket), trust, "example.com");
///   auto [ec, n] = co_await async_write(s, buffer("hello\n"));
/// Thread: that of the transport's context, which is an io_context. Lifetime: the TLS context
/// outlives the handshake. The destructor closes the transport and ends operations with
/// operation_aborted; without async_shutdown() the peer gets the error truncated. Move-only.
class stream {
 public:
  /// Prepares a client's side over a connected stream. `name`: a host name or an address, for which
  /// the server's certificate must be valid. Throws std::bad_alloc, std::invalid_argument for a
  /// name that is neither.
  stream(owned_stream transport, client_context& trust, std::string_view name);
  /// Prepares a server's side over a connected stream. Throws std::bad_alloc.
  stream(owned_stream transport, server_context& identity);
  /// As above, over a connected socket.
  template <class Protocol, class Executor>
  stream(basic_stream_socket<Protocol, Executor>&& socket, client_context& trust,
         std::string_view name)
      : stream(owned_stream(new socket_stream(std::move(socket))), trust, name) {}
  /// As above, over a connected socket.
  template <class Protocol, class Executor>
  stream(basic_stream_socket<Protocol, Executor>&& socket, server_context& identity)
      : stream(owned_stream(new socket_stream(std::move(socket))), identity) {}
  /// As above, over a connected stream of the user: a class with async_read_some and
  /// async_write_some over a socket, which it returns by lowest_layer(). Its operations have to end
  /// when they are cancelled through their cancellation slots, and when the socket is closed.
  template <beck::detail::layered_stream S>
  stream(S transport, client_context& trust, std::string_view name)
      : stream(owned_stream(new beck::detail::adapted_stream(std::move(transport))), trust, name) {}
  /// As above, a server's side.
  template <beck::detail::layered_stream S>
  stream(S transport, server_context& identity)
      : stream(owned_stream(new beck::detail::adapted_stream(std::move(transport))), identity) {}
  stream(stream&& other) noexcept = default;
  /// Closes its own transport, as the destructor does, and takes over that of `other`.
  stream& operator=(stream&& other) noexcept;
  ~stream();

  /// Performs the handshake, unless it was done. Completes with (error_code): tls::error, or an
  /// error of the transport; error_text() explains it. The peer's certificate is verified then.
  /// Cancellation: ends with operation_aborted; the next operation continues the handshake.
  detail::stream_step async_handshake() noexcept {
    return {of_, detail::stream_step::kind::handshake};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_handshake(Token&& token) {
    return beck::detail::launch(async_handshake(), static_cast<Token&&>(token));
  }

  /// Receives at least one byte into the first buffer of `buffers` that is not empty. Completes
  /// with (error_code, std::size_t): eof after the peer's close_notify, tls::error::truncated after
  /// an end without it, other codes of tls::error, or an error of the transport; 0 bytes at once
  /// for an empty buffer. Bytes of the buffer after the received ones may have changed, too.
  /// Cancellation: ends with operation_aborted; no byte is lost.
  template <mutable_buffer_sequence B>
  detail::stream_read async_read_some(const B& buffers) noexcept {
    const beck::detail::buffer_parts<mutable_buffer> parts(buffers, 0, SIZE_MAX);
    return {of_, parts.begin() != parts.end() ? *parts.begin() : mutable_buffer()};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <mutable_buffer_sequence B, class Token>
  auto async_read_some(const B& buffers, Token&& token) {
    return beck::detail::launch(async_read_some(buffers), static_cast<Token&&>(token));
  }

  /// Sends at least one byte of `buffers`, using the first 16 that are not empty. Completes with
  /// (error_code, std::size_t) when the bytes are encrypted and queued: like the bytes in a
  /// socket's buffer, they are sent in the background. At most 80 KiB are queued; a further write
  /// waits. Errors: those of the transport, also of an earlier write; broken_pipe after
  /// async_shutdown().
  /// Cancellation: ends with operation_aborted, and then nothing was sent.
  template <const_buffer_sequence B>
  detail::stream_write async_write_some(const B& buffers) noexcept {
    return {of_, detail::stream_write::parts(buffers, 0, SIZE_MAX)};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <const_buffer_sequence B, class Token>
  auto async_write_some(const B& buffers, Token&& token) {
    return beck::detail::launch(async_write_some(buffers), static_cast<Token&&>(token));
  }

  /// Ends the sending direction: sends the queued bytes, close_notify, and the transport's end. The
  /// other direction can still be read. Completes with (error_code): error::timeout if that takes
  /// more than 2 s; another call then continues.
  detail::stream_step async_shutdown() noexcept {
    return {of_, detail::stream_step::kind::shutdown};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_shutdown(Token&& token) {
    return beck::detail::launch(async_shutdown(), static_cast<Token&&>(token));
  }

  /// Returns a sentence that explains the error of a handshake, or of a connection that TLS has
  /// ended; an empty text if there is none. Valid until the stream is moved or destroyed.
  std::string_view error_text() const noexcept;
  /// Returns the application protocol that was agreed on (ALPN); an empty text if none was.
  std::string_view protocol() const noexcept;
  /// Returns the version: "TLSv1.2" or "TLSv1.3"; an empty text before the handshake.
  std::string_view version() const noexcept;
  /// Returns whether the handshake has resumed an earlier session and so relies on its
  /// certificates.
  bool is_resumed() const noexcept;
  /// Returns the common name of the peer's verified certificate, or its whole subject, shortened;
  /// an empty text without a certificate. Throws std::bad_alloc.
  beck::detail::fixed_text<100> peer() const;
  /// Returns the executor of the transport.
  any_io_executor get_executor() const noexcept;
  /// Returns the transport's socket, to cancel and to close it. Do not read or write it: its bytes
  /// are those of TLS.
  beck::detail::stream_object& socket() noexcept;

 private:
  detail::session_ref of_;
};

}  // namespace beck::tls
