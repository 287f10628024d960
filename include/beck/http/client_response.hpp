// SPDX-License-Identifier: BSL-1.0
//
// The response to a call: its head, and its body as a stream.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/http/head.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>
#include <utility>

namespace beck::http {

namespace detail {

class client_exchange;

/// A share of the ownership of an exchange: of a request and its response.
class exchange_ref {
 public:
  exchange_ref() noexcept = default;
  /// Takes over a share.
  explicit exchange_ref(client_exchange* owned) noexcept : exchange_(owned) {}
  exchange_ref(const exchange_ref& other) noexcept;
  exchange_ref(exchange_ref&& other) noexcept
      : exchange_(std::exchange(other.exchange_, nullptr)) {}
  exchange_ref& operator=(exchange_ref&& other) noexcept;
  ~exchange_ref();

  explicit operator bool() const noexcept { return exchange_ != nullptr; }
  client_exchange& operator*() const noexcept { return *exchange_; }
  client_exchange* operator->() const noexcept { return exchange_; }

 private:
  client_exchange* exchange_ = nullptr;
};

/// The operation of response_body::async_read_some().
class [[nodiscard]] response_read : public op<response_read, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "http body";

  response_read(const exchange_ref& from, mutable_buffer to) noexcept : from_(from), to_(to) {}
  response_read(response_read&& other) noexcept
      : op(static_cast<op&&>(other)),
        from_(static_cast<exchange_ref&&>(other.from_)),
        to_(other.to_) {}

  any_io_executor get_executor() const noexcept;
  bool ready();
  void initiate(handler done);

 private:
  exchange_ref from_;
  mutable_buffer to_;
};

/// The operation of response_body::async_read_all().
class [[nodiscard]] response_read_all
    : public op<response_read_all, void(error_code, std::string)> {
 public:
  static constexpr const char* waits_for = "http body";

  response_read_all(const exchange_ref& from, std::size_t limit) noexcept
      : from_(from), limit_(limit) {}
  response_read_all(response_read_all&& other) noexcept
      : op(static_cast<op&&>(other)),
        from_(static_cast<exchange_ref&&>(other.from_)),
        limit_(other.limit_) {}

  any_io_executor get_executor() const noexcept;
  void initiate(handler done);

 private:
  exchange_ref from_;
  std::size_t limit_;
};

}  // namespace detail

/// The body of a response: a stream that can be read once. A value that shares the response's
/// connection. Do not use it after the response is destroyed. Errors of a read: eof at the end of
/// the body; client_error::body_late if it comes too slowly, cut_short if the connection ends
/// first, a refusal if it is malformed or too long; operation_aborted after the client or the
/// response is gone; those of the socket. A later read ends with the same error. Thread: that of
/// the client's context. One read at a time: another one ends with already_started.
class response_body {
 public:
  explicit response_body(const detail::exchange_ref& of) noexcept : of_(of) {}

  /// Receives at least one byte. Completes with (error_code, std::size_t). Cancellation: ends with
  /// operation_aborted; no byte is lost.
  detail::response_read async_read_some(mutable_buffer to) const noexcept { return {of_, to}; }
  /// As above. `token` takes (error_code, std::size_t).
  template <class Token>
  auto async_read_some(mutable_buffer to, Token&& token) const {
    return beck::detail::launch(async_read_some(to), static_cast<Token&&>(token));
  }
  /// Receives the rest of the body. Completes with (error_code, std::string). Errors: message_size
  /// (std::errc) with the bytes received so far if there are more than `limit` bytes, which ends
  /// the connection; never eof. Cancellation: ends with operation_aborted and the bytes so far.
  detail::response_read_all async_read_all(std::size_t limit) const noexcept {
    return {of_, limit};
  }
  /// As above. `token` takes (error_code, std::string).
  template <class Token>
  auto async_read_all(std::size_t limit, Token&& token) const {
    return beck::detail::launch(async_read_all(limit), static_cast<Token&&>(token));
  }
  /// Returns whether the whole body has been read.
  bool is_whole() const noexcept;
  /// Returns the executor of the client.
  any_io_executor get_executor() const noexcept;

 private:
  detail::exchange_ref of_;
};

/// A stream that client_response::take_over() has separated from HTTP.
struct taken_stream {
  taken_stream() noexcept = default;

  owned_stream stream;
  std::string read_ahead;  ///< the bytes that the server sent after its head
};

/// A response. It keeps its connection until the body was read; then the connection serves other
/// calls. If it is destroyed earlier, the connection is kept if the rest of the body has already
/// arrived, and closed otherwise. Move-only; a default-constructed one is empty.
/// Thread: that of the client's context.
class client_response {
 public:
  /// Makes an empty response.
  client_response() noexcept = default;
  /// Makes a response from a share of its exchange; for the library.
  explicit client_response(detail::exchange_ref of) noexcept
      : of_(static_cast<detail::exchange_ref&&>(of)) {}
  client_response(client_response&&) noexcept = default;
  client_response& operator=(client_response&& other) noexcept;
  ~client_response();

  /// Returns whether there is a head. It is false for an empty response, and after an error.
  explicit operator bool() const noexcept;
  /// Returns the head. Requires that there is one, as do the functions below. Its texts live as
  /// long as the response.
  const response_head& head() const noexcept;
  /// Returns the status.
  http::status status() const noexcept { return head().status(); }
  /// Returns the value of the first field `f`; an empty text if there is none.
  std::string_view get(field f) const noexcept { return head().get(f); }
  /// Returns the value of the first field with this name in any case; an empty text if there is
  /// none.
  std::string_view get(std::string_view name) const noexcept { return head().get(name); }
  /// Returns the body.
  response_body body() const noexcept { return response_body(of_); }
  /// Returns the URL of the last request; after redirects it is not the URL of the call.
  std::string_view url() const noexcept;
  /// Takes the connection over after status 101. The response cannot be used afterwards. Throws
  /// std::logic_error for another status.
  taken_stream take_over();

  /// Returns a sentence with the method, the origin and the error of a call that has failed; an
  /// empty text if it has not failed. Throws std::bad_alloc.
  std::string error_text() const;

 private:
  detail::exchange_ref of_;
};

}  // namespace beck::http
