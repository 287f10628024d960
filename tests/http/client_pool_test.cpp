// SPDX-License-Identifier: BSL-1.0
// The pool of a client: reuse, waiting, redirects, responses whose bodies are not read, and the
// cost of an exchange.
#include <beck/http/client.hpp>

#include <beck/net/local.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/run/bind.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>

#include "http/client_site.hpp"
#include "support/allocations.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;

CONFORMANCE("http client pool: one connection serves call after call") {
  client_site s;
  for (int i = 0; i < 5; ++i) {
    s.server.will(ok(std::to_string(i)));
    CHECK(s.get().body == std::to_string(i));
  }
  CHECK(s.server.connections() == 1);
  CHECK(s.web->stats().made == 1);
  CHECK(s.web->stats().reused == 4);
  CHECK(s.web->stats().idle == 1);
  CHECK(s.web->stats().responses == 5);
  s.web->close_idle();
  CHECK(s.web->stats().connections == 0);
  CHECK(s.web->stats().discarded == 1);
  s.run_until([&] { return s.server.ends == 1; });
}

CONFORMANCE("http client pool: calls beyond the limit of an origin wait in their order") {
  for (const std::size_t most : {1U, 2U}) {
    client_site s({.per_origin = most});
    for (int i = 0; i < 6; ++i) s.start("/" + std::to_string(i));
    s.run_until([&] { return s.server.requests.size() == most; });
    CHECK(s.web->stats().connections == most);
    CHECK(s.web->stats().waiting == 6 - most);
    for (int i = 0; i < 6; ++i) s.server.will(ok("x"));
    // The first ones get no answer; they end with their connections.
    for (std::size_t i = 0; i < most; ++i) s.server.close(i);
    s.run_until([&] {
      return std::all_of(s.outcomes.begin(), s.outcomes.end(), [](auto& o) { return o.done; });
    });
    REQUIRE(s.server.requests.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      if (i < most) CHECK(s.outcomes[i].ec);
      if (i >= most) CHECK(s.outcomes[i].body == "x");
      // With several connections the requests may arrive in another order than they were sent.
      if (most == 1) CHECK(contains(s.server.requests[i].head, "GET /" + std::to_string(i) + " "));
    }
    CHECK(s.web->stats().waits == 6 - most);
    CHECK(s.web->stats().waiting == 0);
    CHECK(s.server.connections() == 2 * most);
  }
}

CONFORMANCE("http client pool: the queue of waiting calls has a bound") {
  client_site s({.per_origin = 1, .waiting = 2});
  for (int i = 0; i < 4; ++i) s.start();
  s.settle();
  CHECK(s.outcomes[3].done);
  CHECK(s.outcomes[3].ec == http::client_error::too_many_waiting);
  CHECK(contains(s.outcomes[3].failure, "client_options::waiting"));
  CHECK(s.web->stats().waiting == 2);
  CHECK(!s.outcomes[2].done);
}

CONFORMANCE("http client pool: at the limit of all connections an idle one makes room") {
  client_site s({.connections = 2});
  scripted_server other(s.ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  const std::string there = "http://127.0.0.1:" + std::to_string(other.endpoint().port()) + "/";
  s.server.will(ok("a"));
  s.server.will(ok("b"));
  outcome& first = s.start("/a");
  outcome& second = s.start("/b");
  s.run_until([&] { return first.done && second.done; });
  CHECK(s.web->stats().idle == 2);
  other.will(ok("c"));
  CHECK(s.finish(s.web->async_get(there)).body == "c");
  CHECK(s.web->stats().connections == 2);
  CHECK(s.web->stats().discarded == 1);
  // Without an idle one the call waits; a connection of another origin that is free makes room.
  other.will(ok("d"));
  outcome& holds_one = s.start("/hold");
  outcome& holds_two = s.start(s.web->async_get(there));
  s.run_until([&] { return s.server.requests.size() == 3 && holds_two.done; });
  outcome& third = s.start("/more");
  s.run_until([&] { return s.server.requests.size() == 4; });
  CHECK(s.web->stats().connections == 2);
  outcome& waits = s.start(s.web->async_get(there));
  s.settle();
  CHECK(s.web->stats().waiting == 1);
  other.will(ok("e"));
  s.server.close(2);
  s.server.close(0);
  s.server.close(1);
  s.run_until([&] { return waits.done; });
  CHECK(waits.body == "e");
  CHECK((holds_one.done || third.done));
  other.stop();
  s.end();  // before `other` goes
}

CONFORMANCE("http client pool: a byte or an end while idle discards a connection") {
  client_site s;
  s.server.will(ok("a"));
  CHECK(s.get().body == "a");
  s.server.push(0, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  s.run_until([&] { return s.web->stats().discarded == 1; });
  CHECK(s.web->stats().connections == 0);
  s.server.will(ok("b"), after::end);
  CHECK(s.get().body == "b");
  s.run_until([&] { return s.web->stats().connections == 0; });
  s.server.will(ok("c"));
  CHECK(s.get().body == "c");
  CHECK(s.server.connections() == 3);
}

CONFORMANCE(
    "http client pool: bytes behind a response end its connection, and reach no other call") {
  client_site s;
  const std::string evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  s.server.will(ok("a") + evil);
  s.server.will("HTTP/1.1 204 No Content\r\n\r\n" + evil);
  s.server.will("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n" + evil);
  s.server.will(ok("c"));
  CHECK(s.get().body == "a");
  CHECK(s.get().body.empty());
  CHECK(s.get().body == "b");
  CHECK(s.get().body == "c");
  CHECK(s.server.connections() == 4);
  CHECK(s.web->stats().reused == 0);
}

CONFORMANCE("http client pool: connections that may not be kept are not") {
  client_site s;
  s.server.will(ok("a", "Connection: close\r\n"));
  s.server.will(ok("b", "Keep-Alive: timeout=0\r\n"));
  s.server.will(ok("c", "Keep-Alive: max=9, timeout=1\r\n"));
  s.server.will(ok("d", "Keep-Alive: timeout=60\r\n"));
  for (const char* body : {"a", "b", "c", "d"}) CHECK(s.get().body == body);
  CHECK(s.server.connections() == 4);
  CHECK(s.web->stats().idle == 1);
}

CONFORMANCE("http client pool: a call is sent again only once") {
  client_site s;
  s.server.will(ok("a"));
  CHECK(s.get().body == "a");
  s.server.will("", after::end);
  s.server.will("", after::end);
  s.server.will(ok("never"));
  CHECK(s.get().ec == http::client_error::no_response);
  CHECK(s.web->stats().retries == 1);
}

CONFORMANCE("http client pool: a response that is dropped keeps its connection if it was there") {
  client_site s;
  const auto drop = [&](std::string text) {
    s.server.will(std::move(text));
    bool done = false;
    s.web->async_get(s.url(), [&](error_code ec, http::client_response r) {
      CHECK(!ec);
      CHECK(r);
      done = true;
    });
    s.run_until([&] { return done; });
  };
  drop(ok("small"));
  CHECK(s.web->stats().idle == 1);
  drop(ok(std::string(1000, 'm')));
  CHECK(s.server.connections() == 1);
  drop("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nonly the beginning");
  CHECK(s.web->stats().connections == 0);
  drop("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client pool: cancelled calls leave nothing behind") {
  client_site s({.per_origin = 1});
  int ended = 0;
  beck::cancellation_signal stop[3];
  for (auto& one : stop) {  // the first one is asked, the others wait
    s.web->async_get(s.url(), beck::bind_cancellation_slot(
                                  one.slot(), [&](error_code ec, http::client_response r) {
                                    CHECK(ec == error::operation_aborted);
                                    CHECK(!r);
                                    ++ended;
                                  }));
  }
  s.run_until([&] { return s.server.requests.size() == 1; });
  CHECK(s.web->stats().waiting == 2);
  stop[1].emit(beck::cancellation_type::terminal);
  s.run_until([&] { return ended == 1; });
  CHECK(s.web->stats().waiting == 1);
  CHECK(s.web->stats().connections == 1);
  stop[0].emit(beck::cancellation_type::terminal);
  s.run_until([&] { return ended == 2; });
  s.run_until([&] { return s.server.requests.size() == 2; });  // it is the turn of the third
  stop[2].emit(beck::cancellation_type::terminal);
  s.run_until([&] { return ended == 3; });
  CHECK(s.web->stats().connections == 0);
  s.server.will(ok("a"));
  CHECK(s.get().body == "a");
}

CONFORMANCE("http client pool: a cancelled read loses no byte") {
  client_site s;
  s.server.will("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
  bool done = false;
  const auto use = [&](http::client& web) -> task<> {
    auto got = co_await web.async_get(s.url());
    const http::client_response r = std::move(got).value();
    char part[6];
    auto read = co_await r.body().async_read_some(beck::buffer(part));
    CHECK(read.value() == 3);
    for (const std::size_t room : {3U, 6U}) {  // straight into this memory, and not
      const beck::mutable_buffer to(part, room);
      auto late = co_await beck::timeout(r.body().async_read_some(to), beck::duration(1'000'000));
      CHECK(late.error() == error::timeout);
      CHECK(late.value_ == 0);
    }
    s.server.push(0, "def");
    auto rest = co_await r.body().async_read_all(10);
    CHECK(rest.value() == "def");
    done = true;
  };
  co_spawn(s.ctx, use(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(s.web->stats().idle == 1);
}

CONFORMANCE("http client pool: the end of a client ends everything under way") {
  client_site s({.per_origin = 1});
  s.server.will("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
  error_code read_ended;
  bool reading = false;
  const auto read = [&](http::client& web) -> task<> {
    auto got = co_await web.async_get(s.url());
    const http::client_response r = std::move(got).value();
    reading = true;
    auto all = co_await r.body().async_read_all(10);
    read_ended = all.error();
    CHECK(all.value_ == "abc");
  };
  co_spawn(s.ctx, read(*s.web), beck::detached);
  s.run_until([&] { return reading; });
  s.start();
  s.start("/waits");
  s.settle();
  s.web.reset();
  s.run_until([&] { return s.outcomes[0].done && s.outcomes[1].done && read_ended; });
  CHECK(read_ended == error::operation_aborted);
  CHECK(s.outcomes[0].ec == error::operation_aborted);
  CHECK(s.outcomes[1].ec == error::operation_aborted);
}

CONFORMANCE("http client: a client and its context are destroyed in the middle of everything") {
  beck::io_context ctx(context_options());
  scripted_server server(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  const std::string url = "http://127.0.0.1:" + std::to_string(server.endpoint().port()) + "/";
  server.will("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
  std::deque<outcome> outcomes(4);
  const std::string body(4'000'000, 'b');
  {
    http::client web(ctx, {.per_origin = 2});
    co_spawn(ctx, collect(web.async_get(url), outcomes[0]), beck::detached);  // reads a body
    while (server.requests.empty()) ctx.run_one();
    co_spawn(ctx, collect(web.async_put(url, "a/b", beck::buffer(body)), outcomes[1]),
             beck::detached);                                                 // sends one
    co_spawn(ctx, collect(web.async_get(url), outcomes[2]), beck::detached);  // waits
    co_spawn(ctx, collect(web.async_get("http://127.0.0.1:1/"), outcomes[3]), beck::detached);
    while (web.stats().waiting != 1) ctx.run_one();
  }
  for (const outcome& one : outcomes) CHECK(!one.done);
}

CONFORMANCE("http client: redirects are off, and followed if they are wanted") {
  const std::string there = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 2\r\n\r\nxx";
  client_site off;
  off.server.will(there);
  CHECK(off.get().status == 302);
  client_site s({.redirects = 2});
  s.server.will(there);
  s.server.will("HTTP/1.1 308 Permanent\r\nLocation: c?d#e\r\nContent-Length: 0\r\n\r\n");
  s.server.will(ok("end"));
  const outcome& got = s.get("/a");
  CHECK(got.body == "end");
  CHECK(got.url == s.url("/c?d"));
  CHECK(s.server.connections() == 1);
  CHECK(s.web->stats().redirects == 2);
  for (int i = 0; i < 3; ++i) s.server.will(there);
  CHECK(s.get().ec == http::client_error::too_many_redirects);
}

CONFORMANCE("http client: 0 connections count as 1, and more than 10 redirects as 10") {
  client_site s({.per_origin = 0, .connections = 0, .redirects = 11});
  for (int i = 0; i < 11; ++i)
    s.server.will("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
  CHECK(s.get("/a").ec == http::client_error::too_many_redirects);
  CHECK(s.web->stats().redirects == 10);
  CHECK(s.web->stats().connections == 1);
}

CONFORMANCE("http client: one redirect too many whose body is empty leaves its connection") {
  client_site s({.redirects = 1});
  for (int i = 0; i < 2; ++i)
    s.server.will("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
  const outcome& got = s.get("/a");
  CHECK(got.ec == http::client_error::too_many_redirects);
  CHECK(!got.failure.empty());
  s.server.will(ok("next"));
  CHECK(s.get("/c").body == "next");
  CHECK(s.server.connections() == 1);  // the body was whole: it serves the next call
}

CONFORMANCE("http client: what a redirect makes of method and body") {
  struct way {
    const char* method;
    int status;
    const char* then;
    bool with_body;
  };
  for (const way& one : {way{"POST", 301, "GET", false}, way{"POST", 302, "GET", false},
                         way{"POST", 303, "GET", false}, way{"PUT", 303, "GET", false},
                         way{"PUT", 302, "PUT", true}, way{"POST", 307, "POST", true},
                         way{"POST", 308, "POST", true}, way{"HEAD", 303, "HEAD", false}}) {
    CAPTURE(one.method);
    CAPTURE(one.status);
    client_site s({.redirects = 5});
    s.server.will("HTTP/1.1 " + std::to_string(one.status) +
                  " R\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    s.server.will("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    http::call c(*s.web, one.method, s.url());
    c.set(http::field::content_type, "text/csv");
    const std::string rows = "rows";
    const bool body = std::string_view(one.method) != "HEAD";
    CHECK(s.finish(body ? c.async_finish(beck::buffer(rows)) : c.async_finish()).status == 200);
    const asked& last = s.server.requests.at(1);
    CHECK(contains(last.head, std::string(one.then) + " /b HTTP/1.1\r\n"));
    CHECK(last.body == (one.with_body ? "rows" : ""));
    CHECK(contains(last.head, "Content-Type") == (one.with_body || !body));
    CHECK(contains(last.head, "Content-Length") == one.with_body);
  }
}

CONFORMANCE("http client: credentials never leave their origin") {
  client_site s({.redirects = 5});
  scripted_server other(s.ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  const std::string there = "http://127.0.0.1:" + std::to_string(other.endpoint().port());
  s.server.will("HTTP/1.1 302 F\r\nLocation: /same\r\nContent-Length: 0\r\n\r\n");
  s.server.will("HTTP/1.1 302 F\r\nLocation: " + there + "/x\r\nContent-Length: 0\r\n\r\n");
  other.will("HTTP/1.1 302 F\r\nLocation: " + s.url("/back") + "\r\nContent-Length: 0\r\n\r\n");
  s.server.will(ok("end"));
  http::call c(*s.web, http::method::get, s.url());
  c.set("authorization", "secret").set("Cookie", "secret").set("Proxy-Authorization", "secret");
  c.set("HOST", "secret").set("Accept", "kept");
  CHECK(s.finish(c.async_finish()).body == "end");
  REQUIRE(s.server.requests.size() == 3);
  CHECK(contains(s.server.requests[1].head, "authorization: secret\r\n"));
  CHECK(contains(s.server.requests[1].head, "HOST: secret\r\n"));
  CHECK(!contains(other.requests.at(0).head, "secret"));
  CHECK(contains(other.requests.at(0).head, "Host: " + there.substr(7) + "\r\n"));
  CHECK(contains(other.requests.at(0).head, "Accept: kept\r\n"));
  CHECK(!contains(s.server.requests[2].head, "secret"));
  other.stop();
  s.end();  // before `other` goes
}

CONFORMANCE("http client: a redirect that may not be followed is the result") {
  for (const char* fields : {"", "Location: ftp://a/\r\n", "Location: http://u@a/\r\n",
                             "Location: /a\r\nLocation: /b\r\n", "Location: \x01\r\n"}) {
    client_site s({.redirects = 5});
    s.server.will("HTTP/1.1 302 F\r\n" + std::string(fields) + "Content-Length: 1\r\n\r\nx");
    const outcome& got = s.get();
    if (std::string_view(fields).find('\x01') != std::string_view::npos) {
      CHECK(got.ec == http::refusal::bad_character);
      continue;
    }
    CHECK(got.status == 302);
    CHECK(got.body == "x");
  }
  client_site s({.redirects = 5});  // a stream is not sent again
  s.server.will("HTTP/1.1 307 T\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
  http::call c(*s.web, http::method::post, s.url());
  bool wrote = false;
  c.async_write_some(beck::buffer("x", 1), [&](error_code, std::size_t) { wrote = true; });
  s.run_until([&] { return wrote; });
  CHECK(s.finish(c.async_finish()).status == 307);
}

namespace {

/// Connects to a UNIX socket's other end, or fails as it is told.
class pair_connector final : public http::connector {
 public:
  explicit pair_connector(beck::io_context& context) : peer(context) {}
  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on,
                                                    const http::origin& to) override {
    beck::io_result<beck::owned_stream> result;
    asked_for = std::string(to.host) + (to.is_https ? "+" : "-") + std::to_string(to.port);
    if (throws == 1) throw std::runtime_error("a connector's own");
    if (throws == 2) throw beck::io_error(make_error_code(std::errc::permission_denied), "x");
    beck::local::stream_protocol::socket mine(on);
    beck::local::connect_pair(mine, peer);
    if (on_connect) on_connect();
    result.value_ = beck::owned_stream(new beck::socket_stream(std::move(mine)));
    co_return result;
  }

  beck::local::stream_protocol::socket peer;
  std::string asked_for;
  std::function<void()> on_connect;
  int throws = 0;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "http client: a connector carries what it connects, https too") {
  beck::io_context ctx(context_options());
  pair_connector how(ctx);
  http::client web(ctx);
  web.connect_with(how);
  bool done = false;
  const auto use = [&]() -> task<> {
    how.throws = 1;
    auto first = co_await web.async_get("http://a/");
    CHECK(first.error() == http::client_error::connector_failed);
    how.throws = 2;
    auto second = co_await web.async_get("http://a/");
    CHECK(second.error() == std::errc::permission_denied);
    how.throws = 0;
    outcome got;
    auto answer = [&]() -> task<> {
      char part[500];
      auto n = co_await how.peer.async_read_some(beck::buffer(part));
      CHECK(contains(std::string_view(part, n.value()), "Host: Example.com\r\n"));
      const std::string text = ok("secret");
      beck::ignore(co_await beck::async_write(how.peer, beck::buffer(text)));
    };
    how.on_connect = [&] { beck::spawn(answer); };
    auto third = collect(web.async_get("https://Example.com/x"), got);
    co_await std::move(third);
    CHECK(got.body == "secret");
    CHECK(how.asked_for == "Example.com+443");
    web.close_idle();
    done = true;
  };
  co_spawn(ctx, use(), beck::detached);
  ctx.run();
  CHECK(done);
  CHECK(web.stats().connections == 0);
}
