// SPDX-License-Identifier: BSL-1.0
//
// The handler of a reverse proxy: each request goes to one server, over connections that are kept.
// Bodies are streamed both ways: a slow peer slows the other one down, and no memory grows.
#pragma once

#include <beck/http/client.hpp>
#include <beck/http/server.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/read_write.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace example {

namespace http = beck::http;

/// A handler for a server on the context of `web`.
class http_proxy {
 public:
  /// `upstream`: a URL without a path, such as "http://127.0.0.1:8080". `scheme`: that of the
  /// clients' URLs, which must outlive this.
  http_proxy(http::client& web, std::string upstream, std::string_view scheme = "http")
      : web_(&web), upstream_(std::move(upstream)), scheme_(scheme) {}

  beck::task<> operator()(http::request& q, http::response& r) const {
    if (!q.path().starts_with('/') || q.method() == http::method::connect) {
      r.status(http::status::bad_request).send("this proxy serves paths of one server\n");
      co_return;
    }
    http::call out(*web_, q.head().method_text(), upstream_);
    const bool whole = !q.target().starts_with('/');  // a URL: of it only the rest is sent on
    std::string target(whole ? q.path() : q.target());
    if (whole && !q.query().empty()) target.append("?").append(q.query());
    out.target(target);
    copy_request(q, out);
    co_await send_body(q, out);
    auto got = co_await out.async_finish();
    if (got.error()) {
      const bool late = got.error() == beck::errc::timed_out;
      r.status(late ? 504 : 502);
      r.send(late ? "the server takes too long\n" : "the server cannot be reached\n");
      co_return;
    }
    const http::client_response in = std::move(got).value();
    copy_response(in, r);
    co_await send_body(in, r);
  }

 private:
  /// Fields of one connection, not of the message (RFC 9110, section 7.6.1), and those that the
  /// client and the server write by themselves.
  static bool stays(const http::head& of, const http::field_view& f) {
    using http::field;
    for (const field own : {field::connection, field::keep_alive, field::proxy_connection,
                            field::te, field::trailer, field::transfer_encoding, field::upgrade,
                            field::content_length, field::expect, field::date}) {
      if (f.id == own) return true;
    }
    return of.lists(field::connection, f.name);
  }
  void copy_request(http::request& q, http::call& out) const {
    using http::field;
    for (const http::field_view f : q.head()) {
      const bool ours = f.id == field::host || f.id == field::x_forwarded_for ||
                        f.id == field::x_forwarded_host || f.id == field::x_forwarded_proto;
      if (!ours && !stays(q.head(), f)) out.add(f.name, f.value);
    }
    out.set(field::x_forwarded_for, q.peer().address().to_string());
    out.set(field::x_forwarded_host, q.get(field::host)).set(field::x_forwarded_proto, scheme_);
    out.add("Via", "1.1 beck");
  }
  static void copy_response(const http::client_response& in, http::response& r) {
    const unsigned number = http::number_of(in.status());
    r.status(number > 599 ? 502 : number);  // no status of HTTP
    for (const http::field_view f : in.head()) {
      if (!stays(in.head(), f)) r.add(f.name, f.value);
    }
    if (in.head().has(http::field::content_length) && !http::is_bodiless(in.status())) {
      r.content_length(std::stoull(std::string(in.get(http::field::content_length))));
    }
  }

  /// Forwards the body of a request, until the server has responded or either side is gone.
  static beck::task<> send_body(http::request& q, http::call& out) {
    if (q.head().framing() == http::body_framing::none) co_return;
    if (q.head().framing() == http::body_framing::length)
      out.content_length(q.head().content_length());
    char part[16384];
    for (;;) {
      const auto [read, n] = co_await q.body().async_read_some(beck::buffer(part));
      if (read == beck::error::eof) co_return;
      if (read) throw std::runtime_error("the request has ended too early");  // both are cut
      const auto [sent, m] = co_await beck::async_write(out, beck::buffer(part, n));
      if (sent) co_return;  // async_finish() tells why
    }
  }
  /// Forwards the body of a response. An exception cuts the connection: half a response is no
  /// response.
  static beck::task<> send_body(const http::client_response& in, http::response& r) {
    char part[16384];
    for (;;) {
      const auto [read, n] = co_await in.body().async_read_some(beck::buffer(part));
      if (read == beck::error::eof) co_return;
      if (read) throw std::runtime_error("the response has ended too early");
      const auto [sent, m] = co_await beck::async_write(r, beck::buffer(part, n));
      if (sent) co_return;
    }
  }

  http::client* web_;
  std::string upstream_;
  std::string_view scheme_;
};

}  // namespace example
