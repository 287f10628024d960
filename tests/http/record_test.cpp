// SPDX-License-Identifier: BSL-1.0
// Records of exchanges, and the texts of refusals, which name the limit.
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>

#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/served.hpp"
#include "http/server_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// A copy of a record.
struct kept_record {
  std::string request;  ///< "-" if it is not known
  http::exchange_record record;
};

task<> answer(http::request& q, http::response& r) {
  const std::string_view path = q.path();
  if (path == "/throws") throw std::runtime_error("no");
  if (path == "/cut") r.content_length(10);
  if (path == "/count" || path == "/late") co_return co_await count_body(q, r);
  const beck::const_buffer part("parts", 5);
  beck::ignore(co_await beck::async_write(r, part));
}

void note(std::vector<kept_record>& all, const http::exchange_record& one) {
  std::string text("-");
  if (one.request != nullptr) {
    text = std::string(one.request->method_text()) + ' ' + std::string(one.request->target());
    text += ' ' + std::string(one.request->get(http::field::host));
  }
  all.push_back({text, one});
  all.back().record.request = nullptr;
}

}  // namespace

CONFORMANCE("http: each exchange and each refusal has one record") {
  std::vector<kept_record> all;
  served s(answer);
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.ask("POST /count?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody" + get("/parts") +
        get("/throws") + get("/cut"));
  s.ask("bad request\r\n\r\n");
  s.ask("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n");
  REQUIRE(all.size() == 6);
  CHECK(all[0].request == "POST /count?x=1 a");
  CHECK(all[0].record.status == 200);
  for (const kept_record& one : all) CHECK(!one.record.client.is_unspecified());
  CHECK(all[0].record.request_bytes == 4);
  CHECK(all[0].record.response_bytes == 1);
  CHECK(all[0].record.time.nanoseconds() >= 0);
  CHECK(all[1].request == "GET /parts a");
  CHECK(all[1].record.response_bytes == 5);
  CHECK(!all[1].record.cut);
  CHECK(all[2].record.status == 500);
  CHECK(all[3].request == "GET /cut a");
  CHECK(all[3].record.status == 200);
  CHECK(all[3].record.cut);
  CHECK(all[4].request == "-");
  CHECK(all[4].record.why == http::refusal::bad_request_line);
  CHECK(all[4].record.status == 400);
  CHECK(all[5].request == "POST /count a");
  CHECK(all[5].record.why == http::refusal::body_too_long);
  CHECK(all[5].record.status == 413);
  for (std::size_t i = 0; i < 4; ++i) CHECK(all[i].record.why == http::refusal::none);
}

CONFORMANCE("http: a record has the peer, and the client that a proxy names") {
  std::vector<kept_record> all;
  ip::tcp::endpoint peer;
  served s([&](http::request& q, http::response& r) {
    peer = q.peer();
    r.send("ok");
  });
  s.server.behind_proxy("0.0.0.0/0");
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.ask(get("/", "Connection: close\r\nX-Forwarded-For: 192.0.2.7\r\n"));
  s.ask("GET / HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n");  // without Host
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.peer.port() != 0);
  CHECK(all[0].record.peer == peer);
  CHECK(all[0].record.client == ip::make_address("192.0.2.7"));
  CHECK(all[1].record.why == http::refusal::host_missing);
  CHECK(all[1].record.peer.port() != 0);
  CHECK(all[1].record.client == all[1].record.peer.address());
}

CONFORMANCE("http: functions and callbacks have records with their heads, too") {
  std::vector<kept_record> all;
  {
    served s(say_path);
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(get("/a") + last_get("/b"));
  }
  {
    served s([](http::exchange x) { x.response().send("c"); });
    s.server.on_finish([](const http::exchange_record&) {});
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(last_get("/c"));
  }
  REQUIRE(all.size() == 3);
  CHECK(all[0].request == "GET /a a");
  CHECK(all[1].request == "GET /b a");
  CHECK(all[2].request == "GET /c a");
}

CONFORMANCE("http: a record says that the peer has gone before the response was whole") {
  std::vector<kept_record> all;
  served s([](http::request&, http::response& r) -> task<> {
    const std::string many(100'000, 'x');
    for (;;) {
      auto sent = co_await beck::async_write(r, beck::buffer(many));
      if (sent.error()) co_return;
    }
  });
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  peer& one = s.start(get("/"));
  s.run_until([&] { return one.received.size() > 1'000'000; });
  error_code ec;
  one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  one.socket.close();
  s.run_until([&] { return !all.empty(); });
  CHECK(all[0].record.cut);
  CHECK(all[0].record.status == 200);
  CHECK((where == beck::test::on_sim || all[0].record.client.is_loopback()));
  CHECK(!all[0].record.client.is_unspecified());
  CHECK(all[0].record.response_bytes >= 1'000'000);
}

CONFORMANCE("http: the text of a refusal names the limit, its value and its member") {
  http::head_limits heads;
  heads.target_bytes = 20;
  heads.fields = 3;
  served s(say_path, {.heads = heads, .bodies = {.body_bytes = 5}});
  const auto text = [&](const std::string& request) { return s.ask(request).at(0).body; };
  CHECK(text(get("/a-target-of-more-than-twenty-bytes")) ==
        "refused: the target is too long (limit: 20 bytes, set by head_limits::target_bytes)\n");
  CHECK(has(text(get("/", "A: 1\r\nB: 2\r\nC: 3\r\n")),
            "(limit: 3 fields, set by head_limits::fields)"));
  CHECK(has(text("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"),
            "(limit: 5 bytes, set by body_limits::body_bytes)"));
  CHECK(!has(text("bad\r\n\r\n"), "limit"));
}

CONFORMANCE("http: a record of HEAD counts no bytes of a body, however the response was made") {
  std::vector<kept_record> all;
  served s(answer);
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.talk("HEAD /parts HTTP/1.1\r\nHost: a\r\n\r\n" + last_get("/parts"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.response_bytes == 0);
  CHECK(!all[0].record.cut);
  CHECK(all[1].record.response_bytes == 5);
}

namespace {

std::string what_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "unknown";
  }
  return {};
}

}  // namespace

CONFORMANCE("http: an exception of a handler is in the log and in the record, a 500 is not") {
  const auto fails = [](http::request& q, http::response& r) {
    const std::string_view path = q.path();
    if (path == "/set") {
      r.send("sent");
      r.set("A", "b");
    }
    if (path == "/odd") throw 5;
    if (path == "/lines") throw std::runtime_error("two\r\nlines");
    if (path == "/500") r.status(500).send();
    if (path == "/ok") r.send();
  };
  const std::string again = "http: the head of the response was sent already";
  for (const bool kept : {false, true}) {
    for (const int kind : {0, 1, 2}) {
      CAPTURE(kept);
      CAPTURE(kind);
      std::vector<std::string> lines;
      std::vector<kept_record> all;
      const auto ask = [&](auto handler) {
        served s(handler);
        keep_lines(s, lines);
        if (kept) s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
        for (const char* path : {"/set?secret", "/odd", "/lines", "/500", "/ok", "/none"})
          s.ask(last_get(path));
      };
      if (kind == 0) ask(fails);
      if (kind == 1) {
        ask([&](http::request& q, http::response& r) -> task<> {
          fails(q, r);
          co_return;
        });
      }
      if (kind == 2) ask([&](http::exchange x) { fails(x.request(), x.response()); });
      REQUIRE(lines.size() == 4);
      CHECK(lines[0] == "http: GET /set: " + again);
      CHECK(lines[1] == "http: GET /odd: an exception that is no std::exception");
      CHECK(lines[2] == "http: GET /lines: two??lines");
      CHECK(lines[3] == "http: GET /none: the handler did not respond");
      if (!kept) continue;
      REQUIRE(all.size() == 6);
      CHECK(what_of(all[0].record.thrown) == again);
      CHECK(what_of(all[1].record.thrown) == "unknown");
      CHECK(all[3].record.status == 500);
      CHECK(!all[3].record.thrown);
      CHECK(!all[4].record.thrown);
      CHECK(all[5].record.status == 500);
      CHECK(what_of(all[5].record.thrown) == "the handler did not respond");
    }
  }
}

CONFORMANCE("http: a handler whose client has gone is no line in the log") {
  std::vector<std::string> lines;
  int started = 0;
  served s([&](http::request& q, http::response&) -> task<> {
    ++started;
    beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
    auto waited = co_await timer.async_wait();
    if (waited.error()) throw std::runtime_error("interrupted");
  });
  keep_lines(s, lines);
  peer& resets = s.start(get("/"));
  s.run_until([&] { return started == 1; });
  error_code ec;
  resets.socket.set_option(beck::socket_base::linger(true, 0), ec);
  resets.socket.close();
  s.run_until([&] { return s.server.stats().connections == 0; });
  CHECK(lines.empty());
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE_ON(beck::test::kernel, "http: the time of a record counts a handler that computes") {
  std::vector<kept_record> all;
  std::vector<std::int64_t> took;
  const auto compute = [&] {
    const auto began = std::chrono::steady_clock::now();
    auto now = began;
    while (now - began < std::chrono::milliseconds(3)) now = std::chrono::steady_clock::now();
    took.push_back(std::chrono::nanoseconds(now - began).count());
  };
  {
    served s([&](http::request&, http::response& r) {
      compute();
      r.send("ok");
    });
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(get("/a") + last_get("/b"));
  }
  {
    served s([&](http::request&, http::response& r) -> task<> {
      compute();
      r.send("ok");
      co_return;
    });
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(last_get("/c"));
  }
  REQUIRE(all.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(all[i].record.time.nanoseconds() >= took[i]);
}

CONFORMANCE("http: a record has the route, the protocol, and the number on its connection") {
  std::vector<std::string> all;
  http::router inner, site;
  inner.get("/{id}", say_path);
  site.mount("/rows", inner).get("/", say_path).otherwise(say_path);
  served s(site);
  s.server.on_finish([&](const http::exchange_record& one) {
    all.push_back(std::string(one.route) + ' ' + std::to_string(one.number));
    CHECK(one.protocol == "HTTP/1.1");
    CHECK(one.security.version.empty());
    CHECK(!one.security.is_resumed);
  });
  s.ask(get("/rows/1") + get("/") + get("/else") + "PUT / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/") +
        "bad\r\n\r\n");
  s.ask(last_get("/rows/2"));
  CHECK(all ==
        std::vector<std::string>{"/rows/{id} 1", "/ 2", " 3", " 4", "/ 5", " 6", "/rows/{id} 1"});
}

TEST_CASE("http worlds: a record says when the response began, and when its handler ended") {
  const auto slow = [](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/none") throw std::runtime_error("no");
    beck::steady_timer timer(q.get_executor(), 2s);
    beck::ignore(co_await timer.async_wait());
    if (q.path() == "/whole") r.send("whole");
    if (q.path() == "/parts") beck::ignore(co_await r.async_flush());
    timer.expires_after(3s);
    beck::ignore(co_await timer.async_wait());
  };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::vector<http::exchange_record> all;
    site s(slow, http::limits(), seed);
    s.server.on_finish([&](const http::exchange_record& one) { all.push_back(one); });
    s.start(get("/parts") + get("/whole") + get("/silent") + get("/none") + "bad\r\n\r\n", 60s);
    REQUIRE(all.size() == 5);
    for (const std::size_t i : {0U, 1U, 2U}) {
      CHECK(all[i].time >= beck::duration::seconds(5));
      CHECK(all[i].time < beck::duration::seconds(6));
    }
    for (const std::size_t i : {0U, 1U}) {
      CHECK(all[i].first_byte >= beck::duration::seconds(2));
      CHECK(all[i].first_byte < beck::duration::seconds(3));
    }
    CHECK(all[2].status == 500);  // it begins when its handler has ended
    CHECK(all[2].first_byte >= beck::duration::seconds(5));
    CHECK(all[2].first_byte <= all[2].time);
    CHECK(all[3].first_byte < beck::duration::seconds(1));
    CHECK(all[4].first_byte == beck::duration::zero());
  }
}
