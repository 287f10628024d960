// SPDX-License-Identifier: BSL-1.0
//
// The response to a request: sent whole, or written as a stream. The server adds framing and the
// date, and enforces the rules of HTTP. A handler that breaks a rule ends its own connection only.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/http/field.hpp>
#include <beck/http/status.hpp>
#include <beck/http/tunnel.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

namespace beck {

class file_object;

}  // namespace beck

namespace beck::http {

class cookie;
class response;
class request;
class exchange;

namespace detail {

struct exchange_state;

/// A function of response::before_head().
struct head_hook {
  static constexpr std::size_t bytes_max = 2 * sizeof(void*);

  void (*call)(void* function, request& q, response& r);
  alignas(void*) unsigned char function[bytes_max];
};

/// The operation of response::async_write_some().
class [[nodiscard]] response_write : public op<response_write, void(error_code, std::size_t)> {
 public:
  static constexpr const char* waits_for = "http response";

  response_write(exchange_state& to, const_buffer data) noexcept : to_(&to), data_(data) {}
  response_write(response_write&& other) noexcept
      : op(static_cast<op&&>(other)), to_(other.to_), data_(other.data_) {}

  bool ready();
  void initiate(handler done);
  any_io_executor get_executor() const noexcept;
  void cancel() noexcept;

 private:
  exchange_state* to_;
  const_buffer data_;
};

/// The operation of response::async_flush().
class [[nodiscard]] response_flush : public op<response_flush, void(error_code)> {
 public:
  static constexpr const char* waits_for = "http response";

  explicit response_flush(exchange_state& to) noexcept : to_(&to) {}
  response_flush(response_flush&& other) noexcept : op(static_cast<op&&>(other)), to_(other.to_) {}

  bool ready();
  void initiate(handler done);
  any_io_executor get_executor() const noexcept;
  void cancel() noexcept;

 private:
  exchange_state* to_;
};

/// The operation of response::async_send_file().
class [[nodiscard]] file_send : public op<file_send, void(error_code, std::uint64_t)> {
 public:
  static constexpr const char* waits_for = "http file";

  file_send(exchange_state& to, file_object& from, std::uint64_t offset,
            std::uint64_t bytes) noexcept
      : to_(&to), from_(&from), offset_(offset), bytes_(bytes) {}
  file_send(file_send&& other) noexcept
      : op(static_cast<op&&>(other)),
        to_(other.to_),
        from_(other.from_),
        offset_(other.offset_),
        bytes_(other.bytes_) {}

  bool ready();
  void initiate(handler done);
  any_io_executor get_executor() const noexcept;

 private:
  exchange_state* to_;
  file_object* from_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
};

}  // namespace detail

/// A response. Set the status and the fields, then call send(), or write a body of any length:
///   r.status(201).set(field::location, path).send("stored\n");
///   r.set(field::content_type, "text/csv");  co_await beck::async_write(r, buffer(rows));
/// A streamed body, also that of async_write(), is sent in chunks, or as it is after
/// content_length(). It ends when the handler ends. If a handler ends without a response, the
/// server sends the status and the fields that it has set, without a body; if it has set none, 500.
/// Thread: that of the handler; one write at a time.
class response {
 public:
  /// Sets the status. Default: 200. Throws std::logic_error if the head was sent.
  response& status(http::status s);
  /// Sets the status by its number. Throws std::invalid_argument unless 200 <= number <= 599.
  response& status(unsigned number);
  /// Returns the status.
  http::status status() const noexcept;

  /// Sets a field; replaces those of the same name. Throws std::invalid_argument if `value` has a
  /// line end or another control character, and for Content-Length, Transfer-Encoding, Connection
  /// and Date, which the server sets: see content_length() and close(). Throws std::length_error
  /// above 16 KiB of fields; std::logic_error if the head was sent.
  response& set(field f, std::string_view value);
  /// As above, for a field with any name.
  response& set(std::string_view name, std::string_view value);
  /// Adds a field beside others of the same name, such as Set-Cookie. Throws as set().
  response& add(std::string_view name, std::string_view value);
  /// Returns whether a field with this name is set, in any case; none of those that the server
  /// writes.
  bool has(std::string_view name) const noexcept;
  /// Announces the length of a body that is written with async_write_some(). If the handler writes
  /// more or less, the connection is cut. Throws std::logic_error if the head was sent.
  response& content_length(std::uint64_t bytes);
  /// Ends the connection after this response, whose head says so. Has no effect after the head was
  /// sent.
  response& close() noexcept;

  /// Calls `function(request&, response&)` once, immediately before the head of the response is
  /// written. The response may be the handler's or one of the server, such as 500. The function may
  /// still change the status and the fields, and must not send. Functions that were added later are
  /// called first, so the hook of an inner middleware precedes that of an outer one. If one throws,
  /// the response is 500, and the others are not called.
  /// Requires: `function` is trivially copyable and has at most the size of two pointers, such as a
  /// lambda that captures a pointer to an object which lives as long as the server; a handler may
  /// have returned when it is called. Throws std::logic_error if the head was sent,
  /// std::length_error beyond before_head_max.
  template <class Function>
    requires(std::is_trivially_copyable_v<Function> &&
             sizeof(Function) <= detail::head_hook::bytes_max &&
             alignof(Function) <= alignof(void*))
  response& before_head(Function function) {
    detail::head_hook hook{
        [](void* f, request& q, response& r) { (*static_cast<Function*>(f))(q, r); }, {}};
    ::new (static_cast<void*>(hook.function)) Function(function);
    return add_hook(hook);
  }
  /// How many functions before_head() takes for a response.
  static constexpr std::size_t before_head_max = 8;

  /// Sends the whole response with `body`, which need not outlive the call: a small body is copied,
  /// of a larger one only the part that the socket does not take at once. Throws std::logic_error
  /// after an earlier send() or write; std::bad_alloc. Never blocks.
  void send(std::string_view body = {});

  /// Sends a JSON text: send() with Content-Type application/json.
  void send_json(std::string_view text) { set(field::content_type, "application/json").send(text); }
  /// Sends the client to another URL or path, without a body. 303 makes it a GET; 307 and 308 keep
  /// the method and the body; browsers remember 301 and 308 for ever. Never pass on what a client
  /// has sent: its links could lead anywhere. Throws std::invalid_argument unless `number` is one
  /// of these or 302, and as set(); else as send().
  void redirect(std::string_view to, unsigned number = 303);
  /// Adds a cookie. Throws as add() and cookie::text().
  response& set_cookie(const cookie& made);

  /// Sends an error page with this status, see server::on_error_page(). Keeps the fields that are
  /// set, but Content-Type; drops content_length(). `text`: a sentence for the client, without a
  /// line end; the reason of the status if it is empty. Throws std::invalid_argument unless
  /// 400 <= status <= 599; else as send().
  void fail(unsigned status, std::string_view text = {});
  /// As above, with the name of the status.
  void fail(http::status s, std::string_view text = {}) { fail(number_of(s), text); }

  /// Writes a part of the body. Completes with (error_code, std::size_t): the bytes taken, at least
  /// one. They are sent when the handler next waits, or once 64 KiB are queued; the write then
  /// waits until the peer takes some. Errors: broken_pipe if the connection is gone; message_size
  /// beyond content_length(); invalid_argument after send().
  /// Cancellation: ends with operation_aborted; no byte was taken.
  detail::response_write async_write_some(const_buffer data) noexcept { return {*to_, data}; }
  /// As above. `token` takes (error_code, std::size_t).
  template <class Token>
  auto async_write_some(const_buffer data, Token&& token) {
    return beck::detail::launch(async_write_some(data), static_cast<Token&&>(token));
  }
  /// Waits until the kernel has taken everything that was written. Completes with (error_code).
  /// Errors, cancellation: as async_write_some().
  detail::response_flush async_flush() noexcept { return detail::response_flush(*to_); }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_flush(Token&& token) {
    return beck::detail::launch(async_flush(), static_cast<Token&&>(token));
  }

  /// Sends `bytes` bytes of a file from `offset` on. With `to_the_end` (transfer_report.hpp) it
  /// sends up to the present end of the file. If the size of a file is not its length (/proc,
  /// /sys), it reads to the end instead, and sends chunks unless the body is short. Without
  /// content_length() and an earlier write the bytes are the whole body. Completes with
  /// (error_code, std::uint64_t): the number of bytes sent. Uses sendfile(2) where the connection
  /// is not encrypted and the response is not chunked; the head shares packets with the first
  /// bytes. The file must outlive the operation. Errors: eof if the file ended before; those of
  /// reading it; else as async_write_some(). After an error the connection is cut.
  /// Cancellation: ends with operation_aborted, and the connection is cut.
  detail::file_send async_send_file(file_object& from, std::uint64_t offset,
                                    std::uint64_t bytes) noexcept {
    return {*to_, from, offset, bytes};
  }
  /// As above. `token` takes (error_code, std::uint64_t).
  template <class Token>
  auto async_send_file(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                       Token&& token) {
    return beck::detail::launch(async_send_file(from, offset, bytes), static_cast<Token&&>(token));
  }

  /// Sends the head, ends HTTP on this connection, and passes its stream to the handler. For a
  /// request with Upgrade: sends 101 with the fields that the handler has set; one of them must be
  /// Upgrade, with one of the protocols that the client offers. For CONNECT: sends the status, a
  /// 2xx, and the fields. The handler may end before the tunnel does.
  ///   response.set(field::upgrade, "echo");  auto taken = co_await response.take_over();
  /// Throws std::logic_error, with nothing sent, if the request has neither, or the response does
  /// not agree to it. The same if the request's body was not read, or the handler is a function.
  /// Errors: broken_pipe if the connection is gone; then there is no tunnel.
  task<io_result<tunnel>> take_over();
  /// Returns whether the head was sent, or is queued.
  bool has_begun() const noexcept;
  /// Returns the executor of the connection, on which the handler runs.
  any_io_executor get_executor() const noexcept;

 private:
  friend class exchange;
  friend struct detail::exchange_state;
  response(const response&) = default;
  response& operator=(const response&) = default;
  response& add_hook(const detail::head_hook& hook);
  explicit response(detail::exchange_state& to) noexcept : to_(&to) {}

  detail::exchange_state* to_;
};

}  // namespace beck::http
