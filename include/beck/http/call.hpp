// SPDX-License-Identifier: BSL-1.0
//
// One call of a client: a request with the caller's fields and an optional body, given whole or
// written as a stream; then the response to it.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <beck/http/client_response.hpp>
#include <beck/http/field.hpp>
#include <beck/http/method.hpp>
#include <beck/run/op.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace beck::http {

class client;

namespace detail {

/// Lets the functions of client::before_call() see the values of the coroutine that waits in
/// `environment`.
void note_caller(const exchange_ref& of, const beck::detail::scope& environment) noexcept;

/// The base of the operations of a call.
template <class Derived, class Signature>
class exchange_op : public op<Derived, Signature> {
 public:
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend_in(coroutine, beck::detail::scope_of(coroutine, at));
  }
  template <class Waiting>
  bool suspend_in(Waiting waiting, beck::detail::scope& environment) {
    detail::note_caller(of_, environment);
    return op<Derived, Signature>::suspend_in(waiting, environment);
  }

 protected:
  exchange_ref of_;

 private:
  friend Derived;
  explicit exchange_op(exchange_ref of) noexcept : of_(static_cast<exchange_ref&&>(of)) {}
  exchange_op(exchange_op&&) noexcept = default;
};

/// The operation of call::async_write_some().
class [[nodiscard]] call_write : public exchange_op<call_write, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "http request";

  call_write(const exchange_ref& to, const_buffer data) noexcept : exchange_op(to), data_(data) {}

  any_io_executor get_executor() const noexcept;
  bool ready();
  void initiate(handler done);

 private:
  const_buffer data_;
};

/// The operation that ends a request and waits for the head of its response.
class [[nodiscard]] call_finish
    : public exchange_op<call_finish, void(error_code, client_response)> {
 public:
  static constexpr const char* waits_for = "http response";

  explicit call_finish(exchange_ref of) noexcept : exchange_op(static_cast<exchange_ref&&>(of)) {}

  any_io_executor get_executor() const noexcept;
  void initiate(handler done);
};

}  // namespace detail

/// A call. Set fields, then finish it, with a whole body or without one:
///   http::call ask(web, http::method::get, url);
///   auto got = co_await ask.set(http::field::accept, "text/csv").async_finish();
/// or write a body of any length and finish it then:
///   auto [ec, n] = co_await beck::async_write(ask, beck::buffer(rows));
/// A stream, async_write() included, is sent in chunks, or as it is after content_length(). It is
/// never sent twice: only a body that is given whole can be repeated, for a retry or a redirect.
/// A call that is destroyed before it was finished closes its connection. Thread: that of the
/// client's context; one operation at a time: one that begins during a write, or a write during
/// async_finish(), ends with already_started, and async_finish() then closes the connection.
/// Lifetime: the client outlives it.
class call {
 public:
  /// Makes a call. `url` is copied; if it is refused, the operations end with bad_url. Throws
  /// std::invalid_argument for method::connect, trace and other; std::bad_alloc.
  call(client& by, http::method m, std::string_view url);
  /// As above, with any method. Throws std::invalid_argument if it is not a token.
  call(client& by, std::string_view method, std::string_view url);
  call(call&&) noexcept = default;
  call& operator=(call&&) = delete;
  ~call();

  /// Sets a field; replaces those of the same name. Throws std::invalid_argument if `value` has a
  /// line end or another control character, and for fields of the connection, which are the
  /// client's: Content-Length, Transfer-Encoding, Connection, Keep-Alive, Expect, TE, Trailer,
  /// Upgrade, Proxy-Connection. Throws std::length_error above 16 KiB of fields; std::logic_error
  /// if the head was sent.
  call& set(field f, std::string_view value);
  /// As above, for a field with any name.
  call& set(std::string_view name, std::string_view value);
  /// Adds a field beside others of the same name. Throws as set().
  call& add(std::string_view name, std::string_view value);
  /// Announces the length of a body that is written with async_write_some(). Throws
  /// std::logic_error if the head was sent.
  call& content_length(std::uint64_t bytes);
  /// Sends the body only after the server has answered "100 Continue", or after
  /// client_options::continue_timeout without a response. Throws std::logic_error if the head was
  /// sent.
  call& expect_continue();
  /// Asks the server to switch to `protocol`. If it answers 101, client_response::take_over()
  /// returns the stream. A redirect is not followed: it is the result. Throws as set().
  call& upgrade(std::string_view protocol);
  /// Sends exactly `text` as the target, instead of the path and the query of the URL: for a proxy,
  /// which must forward its client's target unchanged, such as "/search?tag[]=a|b". `text` is a
  /// path with or without a query, or "*" for OPTIONS; it is copied. With "#", a space, a control
  /// character or a byte above 0x7E it is no target: the call ends with bad_url. A redirect is
  /// resolved against it. Throws std::logic_error if the head was sent.
  call& target(std::string_view text);
  /// Limits the time of the whole call: from its first operation on, with the wait for a
  /// connection, redirects and the body of the response. Error beyond it: client_error::call_late,
  /// of the operation that waits then. 0 or less: no limit, the default. Throws std::logic_error if
  /// the head was sent.
  call& time(duration limit);
  /// Limits the body of the response, instead of client_options::bodies. Error beyond it:
  /// refusal::body_too_long. Throws std::logic_error if the head was sent.
  call& body_limit(std::uint64_t bytes);
  /// Ends the connection after this call. Throws std::logic_error if the head was sent.
  call& close();

  /// Writes a part of the body; the first call connects and sends the head. Completes with
  /// (error_code, std::size_t): the bytes taken, at least one. Waits while 64 KiB are not sent.
  /// Errors: broken_pipe if the server takes no more of the body, because it has responded with an
  /// error or the connection is gone: async_finish() completes with that response, or with the
  /// error of the connection. message_size beyond content_length(); invalid_argument behind
  /// async_finish(); those of connecting.
  /// Does not read the body of a response that comes early: with a server that needs more than 64
  /// KiB of it to be received before it takes more of the request, the write and the call end with
  /// send_late, after client_options::send_timeout. Cancellation: ends with operation_aborted; no
  /// byte was taken.
  detail::call_write async_write_some(const_buffer data) const noexcept { return {of_, data}; }
  /// As above. `token` takes (error_code, std::size_t).
  template <class Token>
  auto async_write_some(const_buffer data, Token&& token) const {
    return beck::detail::launch(async_write_some(data), static_cast<Token&&>(token));
  }
  /// Ends the request and waits for the head of the response. Completes with (error_code,
  /// client_response). After an error the response has no head, and client_response::error_text()
  /// describes the error. The call cannot be used again. Errors: those of client_error; a refusal;
  /// those of the lookup and of the socket. Throws std::logic_error after another async_finish().
  /// Cancellation: ends with operation_aborted, and the connection is closed.
  detail::call_finish async_finish();
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
    requires(!std::is_convertible_v<Token, const_buffer>)
  auto async_finish(Token&& token) {
    return beck::detail::launch(async_finish(), static_cast<Token&&>(token));
  }
  /// As above, with a whole body, which must live until completion. Throws std::logic_error if a
  /// part was written.
  detail::call_finish async_finish(const_buffer body);
  /// As above. `token` takes (error_code, client_response).
  template <class Token>
  auto async_finish(const_buffer body, Token&& token) {
    return beck::detail::launch(async_finish(body), static_cast<Token&&>(token));
  }

  /// Returns the executor of the client.
  any_io_executor get_executor() const noexcept;

 private:
  friend class detail::client_exchange;

  explicit call(detail::exchange_ref of) noexcept : of_(static_cast<detail::exchange_ref&&>(of)) {}

  detail::exchange_ref of_;
};

}  // namespace beck::http
