// SPDX-License-Identifier: BSL-1.0
// The server over real and simulated sockets: responses, bodies, errors of handlers, its end.
#include <beck/http/server.hpp>

#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include <stdexcept>
#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;

namespace {

std::string post(std::string_view path, std::string_view body, std::string_view more = {}) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

}  // namespace

CONFORMANCE_OVER_BOTH("http: set() replaces a field whatever its spelling, add() does not") {
  served s([](http::request&, http::response& r) {
    r.set(http::field::content_type, "one").set(http::field::content_type, "two");
    r.set("content-TYPE", "three").set("X-Own", "one").set("x-own", "two");
    r.add("Vary", "a").add("Vary", "b").send("ok");
  });
  const auto all = s.ask(last_get("/"));
  REQUIRE(all.size() == 1);
  for (const char* gone : {"one", "two\r\nx", "Content-Type", "X-Own"})
    CHECK(!has(all[0].fields, gone));
  CHECK(has(all[0].fields, "content-TYPE: three\r\nx-own: two\r\nVary: a\r\nVary: b\r\n"));
}

CONFORMANCE_OVER_BOTH("http: a connection serves one request after the other") {
  served s(say_path);
  peer& one = s.start(get("/a"));
  s.wait_for(one, 1);
  CHECK(one.responses()[0].body == "/a");
  CHECK(!one.done);
  s.send(one, get("/b"));
  s.wait_for(one, 2);
  CHECK(one.responses()[1].body == "/b");
  CHECK(s.server.stats().accepted == 1);
  CHECK(s.server.stats().exchanges == 2);
  s.stop();
  CHECK(s.server.stats().connections == 0);
}

CONFORMANCE_OVER_BOTH("http: pipelined requests are answered in their order, however they arrive") {
  for (const std::size_t piece : {0U, 1U, 7U, 100U}) {
    served s(say_path);
    std::string text;
    for (int i = 0; i < 40; ++i) text += get("/" + std::to_string(i));
    const auto all = s.ask(text + last_get("/last"), piece);
    REQUIRE(all.size() == 41);
    for (std::size_t i = 0; i < 40; ++i) CHECK(all[i].body == "/" + std::to_string(i));
    CHECK(all[40].body == "/last");
    CHECK(has(all[40].fields, "Connection: close\r\n"));
    CHECK(!has(all[39].fields, "Connection"));
  }
}

CONFORMANCE_OVER_BOTH("http: handlers that wait are answered in the order of their requests") {
  served s([](http::request& q, http::response& r) -> task<> {
    beck::steady_timer timer(q.get_executor(), beck::duration(q.path() == "/slow" ? 2'000'000 : 1));
    beck::ignore(co_await timer.async_wait());
    r.send(q.path());
  });
  const auto all = s.ask(get("/slow") + get("/fast") + get("/slow") + last_get("/end"));
  REQUIRE(all.size() == 4);
  CHECK(all[0].body == "/slow");
  CHECK(all[1].body == "/fast");
  CHECK(all[2].body == "/slow");
  CHECK(all[3].body == "/end");
}

CONFORMANCE_OVER_BOTH("http: a response that is ready goes out while a later handler waits") {
  bool waiting = false;
  served s([&](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/wait") {
      waiting = true;
      beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
      beck::ignore(co_await timer.async_wait());
    }
    r.send(q.path());
  });
  peer& one = s.start(get("/a") + get("/wait"));
  s.wait_for(one, 1);
  CHECK(waiting);
  CHECK(one.responses()[0].body == "/a");
  s.stop(beck::duration(1'000'000));
}

CONFORMANCE_OVER_BOTH(
    "http: bodies are read whole, by length and in chunks, in one piece and byte by byte") {
  for (const std::size_t piece : {0U, 1U}) {
    served s(count_body);
    const std::string body(700, 'b');
    std::string chunked = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    chunked += "2bc;x=1\r\n" + body + "\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n";
    const auto all =
        s.ask(post("/l", body) + chunked + post("/empty", "") + last_get("/none"), piece);
    REQUIRE(all.size() == 4);
    CHECK(all[0].body == "700");
    CHECK(all[1].body == "701");
    CHECK(all[2].body == "0");
    CHECK(all[3].body == "0");
  }
}

CONFORMANCE_OVER_BOTH(
    "http: a body that was left unread is dropped, and the next request is served") {
  served s(say_path);
  const auto all = s.ask(post("/a", std::string(60'000, 'b')) + last_get("/b"));
  REQUIRE(all.size() == 2);
  CHECK(all[1].body == "/b");
}

CONFORMANCE_OVER_BOTH(
    "http: a long body that was left unread ends the connection behind the response") {
  served s(say_path);
  const auto all = s.ask(post("/a", std::string(200'000, 'b')) + last_get("/b"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == "/a");
  CHECK(all[0].whole);
}

CONFORMANCE_OVER_BOTH("http: 100 Continue is sent when the handler reads") {
  served s(count_body);
  peer& one =
      s.start("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  s.run_until([&] { return has(one.received, "\r\n\r\n"); });
  CHECK(one.received == "HTTP/1.1 100 Continue\r\n\r\n");
  s.send(one, "abc" + last_get("/"));
  s.run_until([&] { return one.done; });
  const auto all = one.responses();
  REQUIRE(all.size() == 3);
  CHECK(all[1].body == "3");
}

CONFORMANCE_OVER_BOTH(
    "http: a client that waits for 100 Continue in vain gets the response and the end") {
  served s(say_path);
  const auto all = s.ask(
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
      "Expect: 100-continue\r\n\r\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == "/x");
}

CONFORMANCE_OVER_BOTH("http: HEAD, bodiless statuses and HTTP/1.0") {
  served s([](http::request& q, http::response& r) {
    if (q.path() == "/204") {
      r.status(204).send();
    } else {
      r.send("hello");
    }
  });
  const auto heads =
      responses_in(s.talk("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: "
                          "a\r\nConnection: close\r\n\r\n"),
                   true);
  REQUIRE(heads.size() == 2);
  CHECK(has(heads[0].fields, "Content-Length: 5\r\n"));
  CHECK(heads[1].status == 200);
  const auto none = s.ask(get("/204") + last_get("/"));
  REQUIRE(none.size() == 2);
  CHECK(none[0].status == 204);
  CHECK(!has(none[0].fields, "Content-Length"));
  const auto old = s.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
  REQUIRE(old.size() == 2);
  CHECK(has(old[0].fields, "Connection: keep-alive\r\n"));
  CHECK(has(old[1].fields, "Connection: close\r\n"));
  CHECK(old[1].body == "hello");
}

CONFORMANCE_OVER_BOTH(
    "http: a response is streamed in chunks, by its length, or to the end of the connection") {
  served s([](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/length") r.content_length(6);
    for (int i = 0; i < 3; ++i) {
      beck::ignore(co_await beck::async_write(r, beck::buffer("ab", 2)));
      if (i == 1) beck::ignore(co_await r.async_flush());
    }
  });
  const auto all = s.ask(get("/chunks") + get("/length") + last_get("/chunks"));
  REQUIRE(all.size() == 3);
  CHECK(has(all[0].fields, "Transfer-Encoding: chunked\r\n"));
  CHECK(has(all[1].fields, "Content-Length: 6\r\n"));
  for (const seen_response& one : all) CHECK(one.body == "ababab");
  const auto old = s.ask("GET /chunks HTTP/1.0\r\n\r\n");
  REQUIRE(old.size() == 1);
  CHECK(old[0].body == "ababab");
  CHECK(!has(old[0].fields, "chunked"));
}

CONFORMANCE_OVER_BOTH(
    "http: a stream larger than every buffer reaches a peer whole, and in order") {
  std::string sent;
  served s([&](http::request&, http::response& r) -> task<> {
    for (int i = 0; i < 3000; ++i) {
      const std::string piece = std::to_string(i) + std::string(1000, ' ');
      sent += piece;
      auto [ec, n] = co_await beck::async_write(r, beck::buffer(piece));
      if (ec) co_return;
      if (i % 100 == 0) beck::ignore(co_await r.async_flush());
    }
  });
  const auto all = s.ask(last_get("/"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].whole);
  CHECK((all[0].body == sent));
}

CONFORMANCE_OVER_BOTH("http: large bodies are sent whole, and in their order among small ones") {
  const std::string large(3'000'000, 'l');
  served s([&](http::request& q, http::response& r) {
    if (q.path() == "/large") {
      r.send(large);
    } else {
      r.send(q.path());
    }
  });
  const auto all = s.ask(get("/1") + get("/large") + get("/2") + get("/large") + last_get("/3"));
  REQUIRE(all.size() == 5);
  CHECK(all[0].body == "/1");
  CHECK(all[1].body == large);
  CHECK(all[2].body == "/2");
  CHECK(all[3].body == large);
  CHECK(all[4].body == "/3");
}

CONFORMANCE_OVER_BOTH(
    "http: an exception of a handler is answered with 500, and the connection goes on") {
  served plain([](http::request& q, http::response& r) {
    if (q.path() == "/throw") throw std::runtime_error("no");
    r.send("ok");
  });
  const auto all = plain.ask(get("/throw") + last_get("/"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 500);
  CHECK(all[1].body == "ok");
  CHECK(plain.server.stats().failed == 1);
  served coroutine([](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/throw") throw std::runtime_error("no");
    r.send("ok");
    co_return;
  });
  const auto same = coroutine.ask(get("/throw") + last_get("/"));
  REQUIRE(same.size() == 2);
  CHECK(same[0].status == 500);
  CHECK(same[1].body == "ok");
}

CONFORMANCE_OVER_BOTH(
    "http: a response that cannot be completed is cut, so that the client notices") {
  served s([](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/promise") r.content_length(10);
    beck::ignore(co_await beck::async_write(r, beck::buffer("abc", 3)));
    if (q.path() == "/throw") throw std::runtime_error("no");
  });
  for (const char* path : {"/throw", "/promise"}) {
    const auto all = s.ask(get(path) + get(path));
    REQUIRE(all.size() == 1);
    CHECK(all[0].body == "abc");
    CHECK(!all[0].whole);
  }
  CHECK(s.server.stats().cut == 2);
}

CONFORMANCE_OVER_BOTH("http: a handler without a response is answered for") {
  served s([](http::request& q, http::response& r) {
    if (q.path() == "/status") r.status(http::status::not_found);
  });
  const auto all = s.ask(get("/nothing") + last_get("/status"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 500);
  CHECK(all[1].status == 404);
  CHECK(all[1].body.empty());
}

CONFORMANCE_OVER_BOTH("http: what a handler may not set throws, and nothing of it is sent") {
  int refused = 0;
  const auto attempt = [&](auto work) {
    try {
      work();
    } catch (const std::logic_error&) {
      ++refused;
    }
  };
  served s([&](http::request&, http::response& r) {
    attempt([&] { r.set("A", "b\r\nC: d"); });
    attempt([&] { r.set("A b", "c"); });
    attempt([&] { r.set(http::field::content_length, "7"); });
    attempt([&] { r.set("transfer-encoding", "chunked"); });
    attempt([&] { r.status(199); });
    attempt([&] { r.add("Long", std::string(20'000, 'x')); });
    r.set("One", "1").set("oNE", "2").add("Two", "a").add("Two", "b").set("Three", "3");
    attempt([&] { r.content_length(3).send("ok"); });
    r.content_length(2).send("ok");
    attempt([&] { r.send("again"); });
    attempt([&] { r.set("A", "b"); });
  });
  const auto all = s.ask(last_get("/"));
  REQUIRE(all.size() == 1);
  CHECK(refused == 9);
  CHECK(has(all[0].fields, "oNE: 2\r\nTwo: a\r\nTwo: b\r\nThree: 3\r\n"));
  CHECK(!has(all[0].fields, "One: 1"));
  CHECK(!has(all[0].fields, "C: d"));
}

CONFORMANCE_OVER_BOTH("http: a refused request is answered, and nothing behind it is served") {
  int served_requests = 0;
  served s([&](http::request&, http::response& r) {
    ++served_requests;
    r.send("ok");
  });
  const auto all = s.ask(get("/") + "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 200);
  CHECK(all[1].status == 400);
  CHECK(all[1].body == "refused: the request line is not a method, a target and a version\n");
  CHECK(served_requests == 1);
  CHECK(s.server.stats().count(http::refusal::bad_request_line) == 1);
}

CONFORMANCE_OVER_BOTH(
    "http: a body over the limit is refused before the handler, or while it reads") {
  int called = 0;
  served s(
      [&](http::request& q, http::response& r) -> task<> {
        ++called;
        co_await count_body(q, r);
      },
      {.bodies = {.body_bytes = 100}});
  const auto announced = s.ask(post("/", std::string(101, 'x')) + get("/"));
  REQUIRE(announced.size() == 1);
  CHECK(announced[0].status == 413);
  CHECK(called == 0);
  const auto chunked =
      s.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
            std::string(101, 'x') + "\r\n0\r\n\r\n" + get("/"));
  REQUIRE(chunked.size() == 1);
  CHECK(chunked[0].status == 413);
  CHECK(called == 1);
  const auto malformed = s.ask(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "x\r\n" +
      get("/"));
  REQUIRE(malformed.size() == 1);
  CHECK(malformed[0].status == 400);
  CHECK(s.server.stats().count(http::refusal::body_too_long) == 2);
}

CONFORMANCE_OVER_BOTH("http: a request knows its peer, and what a proxy says of the client") {
  served s([](http::request& q, http::response& r) {
    const auto peer = q.peer().to_text();
    const auto client = q.client_address().to_string();
    r.send(std::string(peer.data(), peer.size()) + ' ' + std::string(client.data(), client.size()));
  });
  s.server.behind_proxy("127.0.0.0/8");
  peer& one = s.start(get("/", "X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n") + last_get("/"));
  s.run_until([&] { return one.done; });
  const auto all = one.responses();
  REQUIRE(all.size() == 2);
  CHECK(all[0].body.substr(0, 10) == "127.0.0.1:");
  CHECK(has(all[0].body, " 1.2.3.4"));
  CHECK(has(all[1].body, " 127.0.0.1"));
  CHECK_THROWS_AS(s.server.behind_proxy("nowhere"), std::invalid_argument);
  CHECK_THROWS_AS(s.server.behind_proxy("::1", http::field::host), std::invalid_argument);
}

CONFORMANCE_OVER_BOTH("http: loopback addresses have no limit of connections") {
  served s(say_path, {.per_address = 1});
  const peer& first = s.start(get("/1"));
  const peer& second = s.start(get("/2"));
  s.wait_for(first, 1);
  s.wait_for(second, 1);
  CHECK(s.server.stats().connections == 2);
  CHECK(s.server.stats().turned_away == 0);
}
