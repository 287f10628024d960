// SPDX-License-Identifier: BSL-1.0
//
// A request as a handler gets it: the head, and the body as a stream.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/http/head.hpp>
#include <beck/http/number.hpp>
#include <beck/http/route.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

class exchange;
class request;

namespace detail {

struct exchange_state;
struct page_draft;

/// Returns the state of the exchange, in which routers keep their results.
exchange_state& state_of(const request& q) noexcept;

/// The operation of request_body::async_read_some().
class [[nodiscard]] body_read : public op<body_read, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "http body";

  body_read(exchange_state& from, mutable_buffer to) noexcept : from_(&from), to_(to) {}
  body_read(body_read&& other) noexcept
      : op(static_cast<op&&>(other)), from_(other.from_), to_(other.to_) {}

  bool ready();
  void initiate(handler done);
  any_io_executor get_executor() const noexcept;

 private:
  exchange_state* from_;
  mutable_buffer to_;
};

/// The operation of request::async_wait_gone().
class [[nodiscard]] client_wait : public op<client_wait, void(error_code)> {
 public:
  static constexpr const char* waits_for = "http client that leaves";

  explicit client_wait(exchange_state& of) noexcept : of_(&of) {}
  client_wait(client_wait&& other) noexcept : op(static_cast<op&&>(other)), of_(other.of_) {}

  bool ready();
  void initiate(handler done);
  any_io_executor get_executor() const noexcept;
  void cancel() noexcept;

 private:
  exchange_state* of_;
};

}  // namespace detail

/// The body of a request: a stream that can be read once, while its handler runs. Data that the
/// handler does not read is dropped. A value that refers to the request.
/// Errors of a read: eof at the end of the body; timeout if it comes too slowly; message_size if it
/// is longer than the server's limit; bad_message (std::errc) if it is malformed; connection_reset
/// and the like, or eof before the end, if the peer has gone: is_whole() then stays false. After
/// such an error a handler that has not begun its response may just return or throw: the server
/// answers with 400, 408 or 413, or closes the connection, and does not count a failure.
/// Thread: that of the handler. One read at a time.
class request_body {
 public:
  explicit request_body(detail::exchange_state& from) noexcept : from_(&from) {}

  /// Receives at least one byte. Completes with (error_code, std::size_t). The first read sends
  /// "100 Continue" if the client waits for it.
  /// Cancellation: ends with operation_aborted; no byte is lost.
  detail::body_read async_read_some(mutable_buffer to) noexcept { return {*from_, to}; }
  /// As above. `token` takes (error_code, std::size_t).
  template <class Token>
  auto async_read_some(mutable_buffer to, Token&& token) {
    return beck::detail::launch(async_read_some(to), static_cast<Token&&>(token));
  }
  /// Returns whether the whole body has been received.
  bool is_whole() const noexcept;
  /// Returns the executor of the connection.
  any_io_executor get_executor() const noexcept;

 private:
  detail::exchange_state* from_;
};

/// A request. Its texts live until its handler has ended. Thread: that of the handler.
class request {
 public:
  /// Returns the head.
  const request_head& head() const noexcept { return *head_; }
  /// Returns the method; method::other if http::method has no value for it.
  http::method method() const noexcept { return head_->method(); }
  /// Returns the target as it was sent.
  std::string_view target() const noexcept { return head_->target(); }
  /// Returns the path of the target, as it was sent: the part before a '?', without the scheme and
  /// the host of a whole URL, and without the prefix of router::mount(). It is empty or begins with
  /// "/". target() returns the whole.
  std::string_view path() const noexcept;
  /// Returns the query of the target, as it was sent, without its '?'; an empty text if there is
  /// none.
  std::string_view query() const noexcept;
  /// Returns the value of the first field `f`; an empty text if there is none.
  std::string_view get(field f) const noexcept { return head_->get(f); }
  /// Returns the value of the first field with this name in any case; an empty text if there is
  /// none.
  std::string_view get(std::string_view name) const noexcept { return head_->get(name); }
  /// Returns the decoded part of the path that the pattern of the route calls `name`; an empty text
  /// if it has no such part.
  std::string_view param(std::string_view name) const noexcept;
  /// Returns param(name) as a decimal number. Throws failure(404) if it is none that T has, because
  /// there is no such path.
  template <detail::text_number T>
  T param_as(std::string_view name) const {
    T value{};
    if (!detail::number_text::read(param(name), value)) detail::refuse_part();
    return value;
  }
  /// Returns the id that the middleware request_id has given to the request; an empty text without
  /// it.
  std::string_view id() const noexcept;
  /// Returns the route that was chosen before the first middleware ran.
  route_view route() const noexcept { return route_view(*state_); }
  /// Returns the endpoint of the peer. An IPv4 address stays one also if it came to a socket for
  /// both versions. 0.0.0.0 and port 0 for a UNIX socket.
  ip::tcp::endpoint peer() const noexcept;
  /// Returns the name in the verified certificate of the peer (tls::server_options::clients()): the
  /// common name, or the whole subject; at most 100 bytes, with '?' for each byte that is not
  /// printable ASCII. So different names may have the same text: if rights depend on it, the
  /// issuers must not issue such names. An empty text without a certificate, and without TLS.
  /// Throws std::bad_alloc.
  beck::detail::fixed_text<100> peer_name() const;
  /// Returns the address of the client: that of the peer or, if the peer is a proxy of
  /// server::behind_proxy(), the client's address as the proxy reports it.
  ip::address client_address() const noexcept;
  /// Returns whether the client has left: it has closed or reset the connection. Asks the kernel. A
  /// client that has only shut down its sending side (shutdown(2), `nc -N`) also counts as having
  /// left, although it may wait for the response. The end of a layer, such as the close_notify of
  /// TLS, does not.
  bool client_left() noexcept;
  /// Waits until client_left(). Completes with (error_code): no error when the client has left, or
  /// the connection has ended in another way; operation_aborted if the wait is cancelled, or the
  /// handler ends before. A handler that then ends without a response does not count as failed. One
  /// wait at a time.
  detail::client_wait async_wait_gone() noexcept { return detail::client_wait(*state_); }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_wait_gone(Token&& token) {
    return beck::detail::launch(async_wait_gone(), static_cast<Token&&>(token));
  }
  /// Returns the body.
  request_body body() noexcept;
  /// Returns the executor of the connection, on which the handler runs.
  any_io_executor get_executor() const noexcept;

 private:
  friend class exchange;
  friend struct detail::exchange_state;
  friend struct detail::page_draft;
  friend detail::exchange_state& detail::state_of(const request& q) noexcept;
  request(const request&) = default;
  request& operator=(const request&) = default;
  request(const request_head& head, detail::exchange_state& of) noexcept
      : head_(&head), state_(&of) {}

  const request_head* head_;
  detail::exchange_state* state_;
};

}  // namespace beck::http
