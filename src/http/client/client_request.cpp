// SPDX-License-Identifier: BSL-1.0
// The sending side of a call: the head, a body that is given whole, and the parts of a stream.
#include <algorithm>
#include <charconv>
#include <cstring>

#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

#include "http/client/client_exchange.hpp"
#include "http/message/characters.hpp"

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

enum class request_event : std::uint8_t {
  begin,    ///< its head is sent
  end,      ///< so is the rest
  restart,  ///< it is sent once more, or another one is
};

/// In the order of request_event.
constexpr beck::detail::transition_table<request_progress, 3> request_transitions = [] {
  using beck::detail::any_of;
  using enum request_progress;
  return beck::detail::transition_table<request_progress, 3>{{
      /* begin   */ {head, any_of({unsent})},
      /* end     */ {whole, any_of({head})},
      /* restart */ {unsent, any_of({head, whole})},
  }};
}();

/// Writes the head of a request for `to`. Throws std::bad_alloc.
void write_request_head(beck::byte_queue& out, const request_state& request, const url& to) {
  const auto line = [&out](field name, std::string_view value) {
    out.append(name_of(name));
    out.append(": ");
    out.append(value);
    out.append("\r\n");
  };
  out.append(request.method_name());
  out.append(" ");
  struct target_writer {  // what url::append_target() takes
    beck::byte_queue& to;
    void append(const char* text, std::size_t bytes) { to.append({text, bytes}); }
  } target{out};
  if (request.target.empty()) {
    to.append_target(target);
  } else {
    out.append(request.target);
  }
  out.append(" HTTP/1.1\r\n");
  if (!has_field(request.fields.text(), name_of(field::host))) line(field::host, to.host_field);
  out.append(request.fields.text());
  char digits[number_max];
  const auto length = [&](std::uint64_t bytes) {
    const char* const end = std::to_chars(digits, digits + number_max, bytes).ptr;
    line(field::content_length, {digits, static_cast<std::size_t>(end - digits)});
  };
  switch (request.kind) {
    case request_body_kind::none:
      if (says_empty(request.method)) length(0);
      break;
    case request_body_kind::whole:
      length(request.body.size());
      break;
    case request_body_kind::length:
      length(request.length);
      break;
    case request_body_kind::chunked:
      line(field::transfer_encoding, "chunked");
      break;
  }
  if (request.expects_continue) line(field::expect, "100-continue");
  if (!request.upgrade.empty()) line(field::upgrade, request.upgrade);
  if (request.closes) {
    line(field::connection, "close");
  } else if (!request.upgrade.empty()) {
    line(field::connection, "Upgrade");
  }
  out.append("\r\n");
}

}  // namespace

void request_state::set_method(http::method m, std::string_view name) noexcept {
  method = m;
  method_bytes = static_cast<std::uint8_t>(name.copy(method_text, sizeof method_text));
}

/// Prepares the call to be sent once more, or to another URL.
void client_exchange::restart() noexcept {
  if (is_begun()) advance(sent_, request_event::restart, request_transitions);
  response_.restart();
  early_ = false;
}

void client_exchange::note_sent() noexcept {
  advance(sent_, request_event::end, request_transitions);
}

/// Adds the head of the request to the output. Without memory for it the call has failed.
void client_exchange::write_head() {
  try {
    write_request_head(connection_->out(), request_, url_);
    advance(sent_, request_event::begin, request_transitions);
  } catch (...) {
    fail(make_error_code(std::errc::not_enough_memory));
    throw;
  }
}

/// Sends the request, but for a stream, and for a body that waits for "100 Continue".
void client_exchange::send_request() {
  write_head();
  const bool has_body = request_.kind == request_body_kind::whole && request_.body.size() != 0;
  if (has_body && !request_.expects_continue) {
    send_whole_body();
  } else {
    if (!has_body) note_sent();
    connection_->flush();
  }
}

void client_exchange::send_whole_body() {
  connection_->send(const_buffer_span(&request_.body, 1));
  note_sent();
}

/// Waits for "100 Continue", but not for ever, then sends the body; not after another response.
task<error_code> client_exchange::wait_for_continue() {
  const std::shared_ptr<client_connection> c = connection_;
  std::int64_t left = pool_->bounds().continue_timeout.nanoseconds();
  error_code ec;
  while (!response_.is_continued() && left > 0) {
    const parse_status parsed = parse_head(ec);
    if (parsed == parse_status::refused) co_return ec;
    if (response_.is_continued() || parsed == parse_status::done || c->end()) break;
    c->want_more();
    const std::int64_t began = loop_time();
    auto waited = co_await timeout(c->received().wait(), duration(left));
    left -= loop_time() - began;
    if (waited.error() == error::timeout) break;
    if (waited.error()) co_return waited.error();
    if (connection_ != c) co_return error::operation_aborted;  // the call is gone
  }
  response_.stop_continue_wait();
  if (!response_.has_head() && !c->end() && request_.kind == request_body_kind::whole)
    send_whole_body();
  co_return ec;
}

/// Ends the stream of a request.
error_code client_exchange::end_stream() {
  if (is_sent()) return error_code();
  client_connection& c = *connection_;
  if (request_.kind == request_body_kind::length && request_.sent != request_.length) {
    const bool may_stop = is_refused_early() || c.send_error() || c.end();
    return may_stop ? failed_ : make_error_code(client_error::wrong_length);
  }
  if (request_.kind == request_body_kind::chunked && !is_refused_early()) {
    c.out().append("0\r\n\r\n");
  }
  if (!is_refused_early()) note_sent();
  c.flush();
  return failed_;
}

/// Whether the server has responded before the request has ended, and wants no more of it. A
/// response that is refused fails the call.
bool client_exchange::is_refused_early() {
  error_code ec;
  const parse_status parsed = parse_head(ec);
  if (ec) failed_ = ec;
  return parsed == parse_status::refused ||
         (parsed == parse_status::done &&
          (number_of(head().status()) >= 400 || request_.expects_continue));
}

bool client_exchange::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  bytes = 0;
  if (failed_ || data.size() == 0) {
    ec = failed_;
    return true;
  }
  if (is_sent() || request_.kind == request_body_kind::whole) {  // async_finish() has the body
    ec = make_error_code(std::errc::invalid_argument);
    return true;
  }
  if (connection_ == nullptr && is_begun()) {  // the call is gone
    ec = error::operation_aborted;
    return true;
  }
  if (connection_ == nullptr || (request_.expects_continue && !response_.is_continued()))
    return false;
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
  if (!response_.is_upgraded() && c.input().size() < unsent_max) c.want_more();
  return true;
}

task<io_result<std::size_t>> client_exchange::write(exchange_ref self, const_buffer data) {
  client_exchange& x = *self;
  std::size_t bytes = 0;
  error_code ec;
  const operation_turn turn(x, call_operation::write);
  if (!turn.is_taken()) co_return io_result<std::size_t>(error::already_started, 0);
  if (x.connection_ == nullptr && !x.failed_ && !x.is_begun()) {
    if (x.request_.kind == request_body_kind::none) x.request_.kind = request_body_kind::chunked;
    if (x.url_error_ != url_error::none) ec = client_error::bad_url;
    if (!ec) ec = co_await x.get_connection();
    if (ec && ec != error::operation_aborted) x.fail(ec);
    if (!ec) x.write_head();
    if (!ec && x.request_.expects_continue) {
      x.connection_->flush();
    }
  }
  if (!ec && x.request_.expects_continue && !x.response_.is_continued() &&
      x.connection_ != nullptr) {
    ec = co_await x.wait_for_continue();
  }
  while (!ec && !x.write_ready(data, bytes, ec)) {
    const std::shared_ptr<client_connection> c = x.connection_;
    auto waited = co_await c->sent().wait();
    ec = waited.error();
  }
  co_return io_result<std::size_t>(ec, bytes);
}

}  // namespace beck::http::detail
