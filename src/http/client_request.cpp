// SPDX-License-Identifier: BSL-1.0
// The sending side of a call: the head, a body that is given whole, and the parts of a stream.
#include <algorithm>
#include <charconv>
#include <cstring>

#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

#include "http/characters.hpp"
#include "http/client_exchange.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t unsent_max = 65'536;  // bytes that are not sent
constexpr std::size_t number_max = 24;      // of a number, with CR LF

/// Whether a request with this method says that it has no body (RFC 9110, section 8.6).
bool says_empty(method m) noexcept {
  return m == method::post || m == method::put || m == method::patch;
}

/// Whether one of the `lines` is a field `name`.
bool has_field(std::string_view lines, std::string_view name) noexcept {
  while (!lines.empty()) {
    if (equal_in_any_case(lines.substr(0, lines.find(':')), name)) return true;
    lines.remove_prefix(lines.find('\n') + 1);
  }
  return false;
}

}  // namespace

void request_state::set_method(http::method m, std::string_view name) noexcept {
  method = m;
  method_bytes = static_cast<std::uint8_t>(name.copy(method_text, sizeof method_text));
}

/// Adds the head of the request to the output. Without memory for it the call has failed.
void client_exchange::write_head() {
  try {
    add_head();
  } catch (...) {
    fail(make_error_code(std::errc::not_enough_memory));
    throw;
  }
}

void client_exchange::add_head() {
  beck::detail::byte_queue& out = connection_->out();
  const auto line = [&out](field name, std::string_view value) {
    out.append(name_of(name));
    out.append(": ");
    out.append(value);
    out.append("\r\n");
  };
  out.append(request_.method_name());
  out.append(" ");
  struct target_writer {  // what url::append_target() takes
    beck::detail::byte_queue& to;
    void append(const char* text, std::size_t bytes) { to.append({text, bytes}); }
  } target{out};
  if (request_.target.empty()) {
    url_.append_target(target);
  } else {
    out.append(request_.target);
  }
  out.append(" HTTP/1.1\r\n");
  if (!has_field(request_.fields.text(), name_of(field::host))) line(field::host, url_.host_field);
  out.append(request_.fields.text());
  char digits[number_max];
  const auto length = [&](std::uint64_t bytes) {
    const char* const end = std::to_chars(digits, digits + number_max, bytes).ptr;
    line(field::content_length, {digits, static_cast<std::size_t>(end - digits)});
  };
  switch (request_.kind) {
    case request_body_kind::none:
      if (says_empty(request_.method)) length(0);
      break;
    case request_body_kind::whole:
      length(request_.body.size());
      break;
    case request_body_kind::length:
      length(request_.length);
      break;
    case request_body_kind::chunked:
      line(field::transfer_encoding, "chunked");
      break;
  }
  if (request_.expects_continue) line(field::expect, "100-continue");
  if (!request_.upgrade.empty()) line(field::upgrade, request_.upgrade);
  if (request_.closes) {
    line(field::connection, "close");
  } else if (!request_.upgrade.empty()) {
    line(field::connection, "Upgrade");
  }
  out.append("\r\n");
  begun_ = true;
}

/// Sends the request, but for a stream, and for a body that waits for "100 Continue".
void client_exchange::send_request() {
  write_head();
  const bool has_body = request_.kind == request_body_kind::whole && request_.body.size() != 0;
  if (has_body && !request_.expects_continue) {
    send_whole_body();
  } else {
    ended_ = !has_body;
    connection_->flush();
  }
}

void client_exchange::send_whole_body() {
  connection_->send(const_buffer_span(&request_.body, 1));
  ended_ = true;
}

/// Waits for "100 Continue", but not for ever, then sends the body; not after another reply.
task<error_code> client_exchange::wait_for_continue() {
  const std::shared_ptr<client_connection> c = connection_;
  std::int64_t left = pool_->bounds().continue_wait().nanoseconds();
  error_code ec;
  while (!continued_ && left > 0) {
    const parse_status parsed = parse_head(ec);
    if (parsed == parse_status::refused) co_return ec;
    if (continued_ || parsed == parse_status::done || c->end()) break;
    c->want_more();
    const std::int64_t began = loop_time();
    auto waited = co_await timeout(c->received().wait(), duration(left));
    left -= loop_time() - began;
    if (waited.error() == error::timeout) break;
    if (waited.error()) co_return waited.error();
    if (connection_ != c) co_return error::operation_aborted;  // the call is gone
  }
  continued_ = true;  // it is not waited for again
  if (!head_done_ && !c->end() && request_.kind == request_body_kind::whole) send_whole_body();
  co_return ec;
}

/// Ends the stream of a request.
error_code client_exchange::end_stream() {
  if (ended_) return error_code();
  client_connection& c = *connection_;
  if (request_.kind == request_body_kind::length && request_.sent != request_.length) {
    const bool may_stop = is_refused_early() || c.send_error() || c.end();
    return may_stop ? failed_ : make_error_code(client_error::wrong_length);
  }
  if (request_.kind == request_body_kind::chunked && !is_refused_early()) {
    c.out().append("0\r\n\r\n");
  }
  ended_ = !is_refused_early();
  c.flush();
  return failed_;
}

/// Whether the server has replied before the request has ended, and wants no more of it. A reply
/// that is refused fails the call.
bool client_exchange::is_refused_early() {
  error_code ec;
  const parse_status parsed = parse_head(ec);
  if (ec) failed_ = ec;
  return parsed == parse_status::refused ||
         (parsed == parse_status::done &&
          (number_of(head_.status()) >= 400 || request_.expects_continue));
}

bool client_exchange::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  bytes = 0;
  if (failed_ || data.size() == 0) {
    ec = failed_;
    return true;
  }
  if (connection_ == nullptr && begun_) {  // the call is gone
    ec = error::operation_aborted;
    return true;
  }
  if (connection_ == nullptr || (request_.expects_continue && !continued_)) return false;
  client_connection& c = *connection_;
  if (c.send_error() || c.end() || is_refused_early()) {
    ec = c.send_error() == client_error::send_late ? c.send_error()
                                                   : make_error_code(std::errc::broken_pipe);
    return true;
  }
  if (request_.kind == request_body_kind::length && request_.length == request_.sent) {
    ec = make_error_code(std::errc::message_size);
    return true;
  }
  if (c.out().size() >= unsent_max) return false;
  bytes = std::min(data.size(), unsent_max);
  if (request_.kind == request_body_kind::length) {
    bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes, request_.length - request_.sent));
    const const_buffer part(data.data(), bytes);
    c.send(const_buffer_span(&part, 1));
  } else {
    char line[number_max];
    char* at = std::to_chars(line, line + number_max, bytes, 16).ptr;
    *at++ = '\r';
    *at++ = '\n';
    const const_buffer parts[] = {
        {line, static_cast<std::size_t>(at - line)}, {data.data(), bytes}, {"\r\n", 2}};
    c.send(const_buffer_span(parts, 3));
  }
  request_.sent += bytes;
  // The bytes behind 101 belong to the caller, who takes the stream without a receive under way.
  // An early body waits in the socket, but for a part of it: nobody reads it during the request.
  const bool is_upgraded = head_done_ && head_.status() == status::switching_protocols;
  if (!is_upgraded && c.input().size() < unsent_max) c.want_more();
  return true;
}

task<io_result<std::size_t>> client_exchange::write(exchange_ref self, const_buffer data) {
  client_exchange& x = *self;
  std::size_t bytes = 0;
  error_code ec;
  if (x.connection_ == nullptr && !x.failed_) {
    if (x.request_.kind == request_body_kind::none) x.request_.kind = request_body_kind::chunked;
    if (x.url_error_ != url_error::none) ec = client_error::bad_url;
    if (!ec) ec = co_await x.get_connection();
    if (ec && ec != error::operation_aborted) x.fail(ec);
    if (!ec) x.write_head();
    if (!ec && x.request_.expects_continue) {
      x.connection_->flush();
    }
  }
  if (!ec && x.request_.expects_continue && !x.continued_ && x.connection_ != nullptr) {
    ec = co_await x.wait_for_continue();
  }
  while (!ec && !x.write_ready(data, bytes, ec)) {
    auto waited = co_await x.connection_->sent().wait();
    ec = waited.error();
  }
  co_return io_result<std::size_t>(ec, bytes);
}

}  // namespace beck::http::detail
