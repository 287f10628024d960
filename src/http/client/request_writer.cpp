// SPDX-License-Identifier: BSL-1.0
// The client writes the fields of the connection and of the framing itself.
#include "http/client/request_writer.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <beck/base/assert.hpp>

#include "base/transitions.hpp"
#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t number_max = 24;  // of a number, with CR LF

enum class request_event : std::uint8_t {
  begin,  ///< its head is sent
  end,    ///< so is the rest
};

/// In the order of request_event.
constexpr beck::detail::transition_table<request_progress, 2> request_transitions = [] {
  using beck::detail::any_of;
  using enum request_progress;
  return beck::detail::transition_table<request_progress, 2>{{
      /* begin */ {head, any_of({unsent})},
      /* end   */ {whole, any_of({head})},
  }};
}();

/// Returns whether a request with this method says that it has no body (RFC 9110, section 8.6).
bool says_empty(method m) noexcept {
  return m == method::post || m == method::put || m == method::patch;
}

/// Returns whether one of the `lines` is a field `name`.
bool has_field(std::string_view lines, std::string_view name) noexcept {
  while (!lines.empty()) {
    if (equal_in_any_case(lines.substr(0, lines.find(':')), name)) return true;
    lines.remove_prefix(lines.find('\n') + 1);
  }
  return false;
}

/// Writes the head of a request. Throws std::bad_alloc.
void write_request_head(beck::byte_queue& out, const client_request& request,
                        const whole_url_form& form) {
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
  if (form.has_whole_url) {
    out.append("http://");
    out.append(request.to.host_field);
  }
  if (request.target.empty()) {
    request.to.append_target(target);
  } else if (!form.has_whole_url || request.target != "*") {  // of a whole URL an empty path
    out.append(request.target);
  }
  out.append(" HTTP/1.1\r\n");
  if (!has_field(request.fields.text(), name_of(field::host)))
    line(field::host, request.to.host_field);
  out.append(request.fields.text());
  if (!form.proxy_authorization.empty() &&
      !has_field(request.fields.text(), name_of(field::proxy_authorization)))
    line(field::proxy_authorization, form.proxy_authorization);
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

void request_writer::begin(client_connection& to) {
  BECK_ASSERT(!request_.check(), "a request whose URL is refused was sent");
  BECK_ASSERT(to.out().empty(), "a request begins behind the rest of another one");
  write_request_head(to.out(), request_, to.form());
  advance(progress_, request_event::begin, request_transitions);
}

void request_writer::send(client_connection& to) {
  const bool has_body = request_.kind == request_body_kind::whole && request_.body.size() != 0;
  if (has_body && !request_.expects_continue) {
    send_body(to);
  } else {
    if (!has_body) advance(progress_, request_event::end, request_transitions);
    to.flush();
  }
}

void request_writer::send_body(client_connection& to) {
  BECK_ASSERT(request_.kind == request_body_kind::whole, "a request without a whole body sends it");
  to.send(const_buffer_span(&request_.body, 1));
  advance(progress_, request_event::end, request_transitions);
}

std::size_t request_writer::write(client_connection& to, const_buffer data, std::size_t bytes_max) {
  BECK_ASSERT(progress_ == request_progress::head && request_.is_stream(),
              "a part of a stream outside of its request");
  std::size_t bytes = std::min(data.size(), bytes_max);
  if (request_.kind == request_body_kind::length) {
    BECK_ASSERT(sent_ < request_.length, "a part behind the promised length");
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, request_.length - sent_));
    const const_buffer part(data.data(), bytes);
    to.send(const_buffer_span(&part, 1));
  } else {
    BECK_ASSERT(bytes != 0, "an empty chunk would end the body");
    char line[number_max];
    char* at = std::to_chars(line, line + number_max, bytes, 16).ptr;
    *at++ = '\r';
    *at++ = '\n';
    const const_buffer parts[] = {
        {line, static_cast<std::size_t>(at - line)}, {data.data(), bytes}, {"\r\n", 2}};
    to.send(const_buffer_span(parts, 3));
  }
  sent_ += bytes;
  return bytes;
}

void request_writer::end(client_connection& to) {
  BECK_ASSERT(!is_short(), "a request ends before its promised length");
  if (request_.kind == request_body_kind::chunked) to.out().append("0\r\n\r\n");
  advance(progress_, request_event::end, request_transitions);
}

}  // namespace beck::http::detail
