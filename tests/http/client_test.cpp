// SPDX-License-Identifier: BSL-1.0
// The client over real and simulated sockets: what it sends, what it makes of responses.
#include <beck/http/client.hpp>

#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>

#include <stdexcept>
#include <string>

#include "http/client_site.hpp"
#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;

CONFORMANCE("http client: a GET sends Host and no more, and gets status, fields and body") {
  client_site s;
  s.server.will(ok("hello", "X: y\r\n"));
  const outcome& got = s.get("/a?b=c");
  CHECK(!got.ec);
  CHECK(got.status == 200);
  CHECK(got.head_field == "y");
  CHECK(got.body == "hello");
  CHECK(!got.body_ec);
  CHECK(got.failure.empty());
  CHECK(got.url == s.url("/a?b=c"));
  REQUIRE(s.server.requests.size() == 1);
  CHECK(s.server.requests[0].head ==
        "GET /a?b=c HTTP/1.1\r\nHost: " + s.url("").substr(7) + "\r\n\r\n");
}

CONFORMANCE("http client: shorthands and fields of the caller") {
  client_site s;
  for (int i = 0; i < 5; ++i) s.server.will(ok(""));
  const std::string body = "rows";
  s.finish(s.web->async_post(s.url("/p"), "text/csv", beck::buffer(body)));
  s.finish(s.web->async_put(s.url("/q"), "text/csv", beck::buffer(body)));
  s.finish(s.web->async_delete(s.url("/d")));
  http::call own(*s.web, "PURGE", s.url("/o"));
  own.set(http::field::accept, "a").set("Accept", "b").add("X-One", "1").add("X-One", "2");
  own.set(http::field::host, "other").close();
  s.finish(own.async_finish());
  http::call empty(*s.web, http::method::post, s.url("/e"));
  s.finish(empty.async_finish());
  REQUIRE(s.server.requests.size() == 5);
  const auto head = [&](std::size_t i) { return std::string_view(s.server.requests[i].head); };
  CHECK(contains(head(0), "POST /p HTTP/1.1\r\n"));
  CHECK(contains(head(0), "Content-Type: text/csv\r\nContent-Length: 4\r\n\r\n"));
  CHECK(s.server.requests[0].body == "rows");
  CHECK(contains(head(1), "PUT /q HTTP/1.1\r\n"));
  CHECK(contains(head(2), "DELETE /d HTTP/1.1\r\n"));
  CHECK(!contains(head(2), "Content-Length"));
  CHECK(head(3) ==
        "PURGE /o HTTP/1.1\r\nAccept: b\r\nX-One: 1\r\nX-One: 2\r\nHost: other\r\n"
        "Connection: close\r\n\r\n");
  CHECK(contains(head(4), "Content-Length: 0\r\n"));
  CHECK(s.server.requests[4].connection == 1);  // the fourth one said "close"
}

CONFORMANCE("http client: what a call may not send throws, and nothing is sent") {
  client_site s;
  http::call c(*s.web, http::method::get, s.url());
  for (const char* name : {"Content-Length", "transfer-encoding", "Connection", "Keep-Alive", "TE",
                           "Trailer", "Upgrade", "Expect", "Proxy-Connection"})
    CHECK_THROWS_AS(c.set(name, "x"), std::invalid_argument);
  CHECK_THROWS_AS(c.set("A", "x\r\nB: y"), std::invalid_argument);
  CHECK_THROWS_AS(c.set("A b", "x"), std::invalid_argument);
  CHECK_THROWS_AS(c.set("A", std::string(20'000, 'x')), std::length_error);
  CHECK_THROWS_AS(c.upgrade("a\r\nb"), std::invalid_argument);
  CHECK_THROWS_AS(http::call(*s.web, "G T", s.url()), std::invalid_argument);
  CHECK_THROWS_AS(http::call(*s.web, "", s.url()), std::invalid_argument);
  CHECK_THROWS_AS(http::call(*s.web, std::string(25, 'A'), s.url()), std::invalid_argument);
  CHECK_THROWS_AS(http::call(*s.web, "CONNECT", s.url()), std::invalid_argument);
  CHECK_THROWS_AS(http::call(*s.web, http::method::trace, s.url()), std::invalid_argument);
  s.server.will(ok("x"));
  s.finish(c.async_finish());
  CHECK_THROWS_AS(static_cast<void>(c.async_finish()), std::logic_error);
  CHECK_THROWS_AS(c.set("A", "x"), std::logic_error);
  CHECK(s.server.requests.size() == 1);
}

CONFORMANCE("http client: URLs that are refused, and https without TLS, are errors in words") {
  client_site s;
  const outcome& bad = s.finish(s.web->async_get("ftp://a/"));
  CHECK(bad.ec == http::client_error::bad_url);
  CHECK(contains(bad.failure, "GET ftp://a/: The URL is refused: "));
  const outcome& tls = s.finish(s.web->async_get("https://127.0.0.1/"));
  CHECK(tls.ec == http::client_error::no_tls);
  CHECK(contains(tls.failure, "GET https://127.0.0.1:443: https needs a connector with TLS"));
  CHECK(s.finish(s.web->async_get(std::string(9'000, 'x'))).ec == http::client_error::bad_url);
  http::call stream(*s.web, http::method::post, "http://user@a/");
  bool done = false;
  stream.async_write_some(beck::buffer("x", 1), [&](error_code ec, std::size_t) {
    CHECK(ec == http::client_error::bad_url);
    done = true;
  });
  s.run_until([&] { return done; });
  CHECK(s.finish(stream.async_finish()).ec == http::client_error::bad_url);
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: a body is written as a stream, in chunks or by its length") {
  client_site s;
  s.server.will(ok("chunks"));
  s.server.will(ok("length"));
  bool done = false;
  const auto write = [&](http::client& web) -> task<> {
    const std::string rows(200'000, 'r');
    http::call chunks(web, http::method::post, s.url("/c"));
    auto wrote = co_await beck::async_write(chunks, beck::buffer(rows));
    CHECK(wrote.value() == rows.size());
    const beck::const_buffer nothing;
    auto none = co_await chunks.async_write_some(nothing);  // no chunk of no bytes: that is the end
    CHECK(none.value() == 0);
    wrote = co_await beck::async_write(chunks, beck::buffer("more", 4));
    auto first = co_await chunks.async_finish();
    const http::client_response answered = std::move(first).value();
    auto text = co_await answered.body().async_read_all(100);
    CHECK(text.value() == "chunks");
    http::call length(web, http::method::put, s.url("/l"));
    length.content_length(rows.size());
    wrote = co_await beck::async_write(length, beck::buffer(rows));
    CHECK(wrote.value() == rows.size());
    wrote = co_await beck::async_write(length, beck::buffer("more", 4));
    CHECK(wrote.error() == beck::errc::message_size);
    auto second = co_await length.async_finish();
    CHECK(second->status() == http::status::ok);
    done = true;
  };
  co_spawn(s.ctx, write(*s.web), beck::detached);
  s.run_until([&] { return done; });
  REQUIRE(s.server.requests.size() == 2);
  CHECK(contains(s.server.requests[0].head, "Transfer-Encoding: chunked\r\n"));
  CHECK(s.server.requests[0].body == std::string(200'000, 'r') + "more");
  CHECK(contains(s.server.requests[1].head, "Content-Length: 200000\r\n"));
  CHECK(s.server.requests[1].body.size() == 200'000);
  CHECK(s.server.connections() == 1);
}

CONFORMANCE("http client: a stream whose first write was cancelled in time has no body") {
  client_site s({.per_origin = 1});
  s.start("/hold");
  s.run_until([&] { return s.server.requests.size() == 1; });
  http::call c(*s.web, http::method::put, s.url("/put"));
  beck::cancellation_signal stop;
  error_code ec;
  c.async_write_some(
      beck::buffer("x", 1),
      beck::bind_cancellation_slot(stop.slot(), [&](error_code why, std::size_t) { ec = why; }));
  s.run_until([&] { return s.web->stats().waiting == 1; });
  stop.emit(beck::cancellation_type::terminal);
  s.run_until([&] { return !!ec; });
  CHECK(ec == error::operation_aborted);
  s.server.close(0);
  s.server.will(ok("y"));
  CHECK(s.finish(c.async_finish()).body == "y");
  CHECK(contains(s.server.requests.at(1).head, "Content-Length: 0\r\n"));
  CHECK(!contains(s.server.requests[1].head, "chunked"));
}

CONFORMANCE("http client: less than the promised length ends the connection with an error") {
  client_site s;
  bool wrote = false;
  http::call short_one(*s.web, http::method::put, s.url());
  short_one.content_length(10);
  short_one.async_write_some(beck::buffer("abc", 3),
                             [&](error_code, std::size_t) { wrote = true; });
  s.run_until([&] { return wrote; });
  CHECK(s.finish(short_one.async_finish()).ec == http::client_error::wrong_length);
  http::call none(*s.web, http::method::put, s.url());
  none.content_length(10);
  CHECK(s.finish(none.async_finish()).ec == http::client_error::wrong_length);
  s.run_until([&] { return s.server.ends == 1; });
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: writes wait while the server takes nothing") {
  std::size_t writes = 0;
  bool pending = false;  // the end of the site sets it: they live longer
  client_site s;
  s.server.answers_early = true;  // it never reads a body
  http::call one(*s.web, http::method::post, s.url());
  const std::string part(65'536, 'p');
  for (int i = 0; i < 1000; ++i) {
    pending = true;
    one.async_write_some(beck::buffer(part), [&](error_code ec, std::size_t) {
      pending = false;
      if (!ec) ++writes;
    });
    s.settle();
    if (pending) break;
  }
  CHECK(pending);
  CHECK(writes < 999);
}

CONFORMANCE("http client: an early error response stops the stream, and is the result") {
  client_site s;
  s.server.answers_early = true;
  s.server.will("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno\n");
  bool done = false;
  const auto write = [&](http::client& web) -> task<> {
    http::call large(web, http::method::post, s.url());
    const std::string part(65'536, 'p');
    error_code ec;
    for (int i = 0; i < 10'000 && !ec; ++i) {
      auto wrote = co_await large.async_write_some(beck::buffer(part));
      ec = wrote.error();
    }
    CHECK(ec == beck::errc::broken_pipe);
    auto got = co_await large.async_finish();
    const http::client_response answered = std::move(got).value();
    CHECK(beck::http::number_of(answered.status()) == 413);
    auto text = co_await answered.body().async_read_all(100);
    CHECK(text.value() == "no\n");
    done = true;
  };
  co_spawn(s.ctx, write(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(s.web->stats().connections == 0);  // half a request is never followed by another one
}

CONFORMANCE("http client: a body is sent behind 100 Continue, and not behind another response") {
  client_site s;
  s.server.continues = true;
  s.server.will(ok("a"));
  const std::string body(1000, 'b');
  http::call one(*s.web, http::method::post, s.url());
  CHECK(s.finish(one.expect_continue().async_finish(beck::buffer(body))).body == "a");
  CHECK(contains(s.server.requests.at(0).head, "Expect: 100-continue\r\n"));
  CHECK(s.server.requests[0].body == body);
  s.server.continues = false;
  s.server.answers_early = true;
  s.server.will("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  http::call two(*s.web, http::method::post, s.url());
  CHECK(s.finish(two.expect_continue().async_finish(beck::buffer(body))).status == 401);
  s.run_until([&] { return s.server.ends == 1; });
  CHECK(s.server.requests.size() == 2);  // the body has not become a request
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: a stream waits for 100 Continue as well") {
  client_site s;
  s.server.continues = true;
  s.server.will(ok("a"));
  http::call one(*s.web, http::method::post, s.url());
  one.expect_continue();
  bool wrote = false;
  one.async_write_some(beck::buffer("abc", 3), [&](error_code ec, std::size_t n) {
    CHECK(!ec);
    CHECK(n == 3);
    wrote = true;
  });
  s.run_until([&] { return wrote; });
  CHECK(s.finish(one.async_finish()).body == "a");
  CHECK(s.server.requests.at(0).body == "abc");
}

CONFORMANCE("http client: responses without a body, by length, in chunks and to the end") {
  client_site s;
  s.server.will("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");  // to HEAD
  s.server.will("HTTP/1.1 204 No Content\r\n\r\n");
  s.server.will("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  s.server.will(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n");
  s.server.will("HTTP/1.0 200 OK\r\n\r\nto the end", after::end);
  s.server.will("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx");
  CHECK(s.finish(s.web->async_head(s.url())).body.empty());
  CHECK(s.get().status == 204);
  CHECK(s.get().status == 304);
  CHECK(s.get().body == "abc");
  const outcome& old = s.get();
  CHECK(old.body == "to the end");
  CHECK(!old.body_ec);
  CHECK(s.server.connections() == 1);
  CHECK(s.get().body == "x");
  CHECK(s.server.connections() == 2);
  CHECK(s.web->stats().idle == 1);
}

CONFORMANCE("http client: 1xx responses are skipped, but not without a bound") {
  client_site s({.interim_bytes = 4'000});
  const std::string early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";  // 40 bytes
  std::string many;
  for (int i = 0; i < 98; ++i) many += early;
  s.server.will(many + "HTTP/1.1 100 Continue\r\n\r\n" + ok("after"));
  s.server.will(many + early + early + early + ok("never"));
  CHECK(s.get().body == "after");
  CHECK(s.get().ec == http::client_error::too_many_interim);
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: 101 gives the stream away, if it was asked for") {
  client_site s;
  const std::string switched =
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
  s.server.will(switched + "first bytes");
  s.server.will(switched);
  bool done = false;
  const auto use = [&](http::client& web) -> task<> {
    http::call ask(web, http::method::get, s.url());
    auto got = co_await ask.upgrade("x").async_finish();
    http::client_response answered = std::move(got).value();
    http::taken_stream taken = answered.take_over();
    CHECK(taken.read_ahead == "first bytes");
    CHECK_THROWS_AS(answered.take_over(), std::logic_error);
    CHECK(web.stats().connections == 0);
    s.server.push(0, "later");
    auto more = co_await taken.stream->receive();
    CHECK(std::string(more->data(), more->size()) == "later");
    done = true;
  };
  co_spawn(s.ctx, use(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(contains(s.server.requests.at(0).head, "Upgrade: x\r\nConnection: Upgrade\r\n"));
  CHECK(s.get().ec == http::client_error::unexpected_upgrade);
}

CONFORMANCE("http client: a malformed response is an error with a name, and ends its connection") {
  struct bad {
    const char* text;
    http::refusal why;
  };
  for (const bad& one :
       {bad{"HTP/1.1 200 OK\r\n\r\n", http::refusal::bad_status_line},
        bad{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            http::refusal::bad_content_length},
        bad{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            http::refusal::bad_transfer_encoding},
        bad{"HTTP/1.1 200 OK\nA: b\n\n", http::refusal::bad_line_end}}) {
    client_site s;
    s.server.will(std::string(one.text));
    const outcome& got = s.get();
    CHECK(got.ec == one.why);
    CHECK(got.ec == beck::errc::bad_message);
    CHECK(contains(got.failure,
                   "The response is refused: " + std::string(beck::http::text_of(one.why))));
    CHECK(contains(got.failure, s.url("").substr(7)));
    CHECK(s.web->stats().connections == 0);
  }
  client_site s;
  s.server.will("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n");
  const outcome& got = s.get();
  CHECK(!got.ec);
  CHECK(got.body_ec == http::refusal::bad_chunk_end);
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: a response that is cut short is never taken for a whole one") {
  for (const std::string& text :
       {ok("hello").substr(0, 20), ok("hello").substr(0, ok("hello").size() - 1),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")}) {
    for (const after how : {after::end, after::reset}) {
      client_site s;
      s.server.will(text, how);
      const outcome& got = s.get();
      const error_code ec = got.ec ? got.ec : got.body_ec;
      CHECK(ec == beck::errc::connection_reset);
      if (how == after::end) CHECK(ec == http::client_error::cut_short);
      CHECK(s.web->stats().connections == 0);
    }
  }
  client_site s;
  s.server.will("", after::end);
  CHECK(s.get().ec == http::client_error::no_response);
}

CONFORMANCE("http client: read_all ends with message_size beyond its limit") {
  client_site s;
  s.server.will(ok("12345"));
  s.server.will(ok("12345" + std::string(100, '6')));
  bool done = false;
  const auto use = [&](http::client& web) -> task<> {
    for (int i = 0; i < 2; ++i) {
      auto got = co_await web.async_get(s.url());
      const http::client_response r = std::move(got).value();
      auto text = co_await r.body().async_read_all(5);
      CHECK(text.value_ == "12345");
      CHECK(text.error() == (i == 0 ? error_code() : make_error_code(std::errc::message_size)));
      CHECK(r.body().is_whole() == (i == 0));
    }
    done = true;
  };
  co_spawn(s.ctx, use(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: a large body arrives whole, in whatever pieces it is read") {
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{100'000}}) {
    client_site s;
    std::string body;
    for (int i = 0; i < 100'000; ++i) body += std::to_string(i);
    s.server.will(ok(body));
    std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += 60'000) {
      const std::string part = body.substr(at, 60'000);
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", part.size());
      chunked += size + part + "\r\n";
    }
    s.server.will(chunked + "0\r\n\r\n");
    bool done = false;
    const auto use = [&](http::client& web) -> task<> {
      for (int i = 0; i < 2; ++i) {
        auto got = co_await web.async_get(s.url());
        const http::client_response r = std::move(got).value();
        std::string all, part(piece, ' ');
        for (;;) {
          auto read = co_await r.body().async_read_some(beck::buffer(part));
          all.append(part, 0, read.value_);
          if (read.error() == error::eof) break;
          REQUIRE(!read.error());
        }
        CHECK(all == body);
      }
      done = true;
    };
    co_spawn(s.ctx, use(*s.web), beck::detached);
    s.run_until([&] { return done; });
    CHECK(s.server.connections() == 1);
  }
}

CONFORMANCE("http client: callbacks, and a time limit around a call") {
  client_site s;
  s.server.will(ok("x"));
  int calls = 0;
  s.web->async_get(s.url(), [&](error_code ec, http::client_response r) {
    CHECK(!ec);
    CHECK(r.status() == http::status::ok);
    ++calls;
  });
  CHECK(calls == 0);
  s.run_until([&] { return calls == 1; });
  bool done = false;
  const auto late = [&](http::client& web) -> task<> {  // no answer is left
    auto got = co_await beck::timeout(web.async_get(s.url()), beck::duration(1'000'000));
    CHECK(got.error() == error::timeout);
    done = true;
  };
  co_spawn(s.ctx, late(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: its own server answers it, bodies in both directions") {
  served s(count_body);
  http::client web(s.ctx);
  outcome out, in;
  const std::string body(300'000, 'b');
  const std::string url = "http://127.0.0.1:" + std::to_string(s.server.endpoint().port()) + "/";
  co_spawn(s.ctx, collect(web.async_post(url, "a/b", beck::buffer(body)), out), beck::detached);
  s.run_until([&] { return out.done; });
  CHECK(out.body == "300000");
  co_spawn(s.ctx, collect(web.async_get(url), in), beck::detached);
  s.run_until([&] { return in.done; });
  CHECK(in.body == "0");
  CHECK(s.server.stats().accepted == 1);
  s.stop();
  s.run_until([&] { return web.stats().connections == 0; });
  CHECK(web.stats().discarded == 1);
}
