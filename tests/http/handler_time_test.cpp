// SPDX-License-Identifier: BSL-1.0
// Handlers whose time is over: 503 or a cut connection, for coroutines and for kept exchanges.
#include <beck/http/error_page.hpp>
#include <beck/http/middleware.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/slot.hpp>

#include <beck/coro/event.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "http/shown_page.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

constexpr beck::duration a_moment(1'000'000);
constexpr beck::duration an_hour(3'600'000'000'000);
constexpr const char* late_text =
    "refused: the handler took too long (limit: 1 ms, set by route_options::handler_timeout)\n";

constinit const http::slot<std::string> kept_text;

std::uint64_t late_of(const http::server& of) {
  return of.stats().count(http::refusal::handler_late);
}

/// Waits for an event that never comes, and keeps the errors.
struct endless {
  task<> wait() {
    auto came = co_await never.wait();
    errors.push_back(came.error());
  }

  beck::manual_reset_event never;
  std::vector<error_code> errors;
};

}  // namespace

CONFORMANCE_OVER_BOTH("http: a handler whose time is over is stopped, and answered for with 503") {
  endless all;
  std::vector<http::exchange_record> records;
  http::router site;
  const http::route_options most{.handler_timeout = a_moment};
  site.get(
          "/waits", [&](http::request&, http::response&) -> task<> { co_await all.wait(); }, most)
      .get(
          "/touched",
          [&](http::request&, http::response& r) -> task<> {
            r.status(201).set("X-Dropped", "yes");
            co_await all.wait();
          },
          most)
      .get(
          "/throws",
          [&](http::request&, http::response&) -> task<> {
            co_await all.wait();
            throw std::runtime_error("interrupted");
          },
          most)
      .get("/", say_path);
  served s(site);
  std::vector<std::string> lines;
  keep_lines(s, lines);
  s.server.on_finish([&](const http::exchange_record& one) { records.push_back(one); });
  for (const char* path : {"/waits", "/touched", "/throws"}) {
    CAPTURE(path);
    const auto seen = s.ask(get(path) + last_get("/"));
    REQUIRE(seen.size() == 2);  // the connection goes on
    CHECK(seen[0].status == 503);
    CHECK(seen[0].body == late_text);
    CHECK(!has(seen[0].fields, "X-Dropped"));
    CHECK(seen[1].body == "/");
  }
  CHECK(all.errors == std::vector<error_code>(3, beck::error::timeout));
  CHECK(late_of(s.server) == 3);
  CHECK(s.server.stats().failed == 0);
  CHECK(s.server.stats().cut == 0);
  REQUIRE(records.size() == 6);
  CHECK(records[0].why == http::refusal::handler_late);
  CHECK(records[0].status == 503);
  CHECK(!records[0].thrown);
  CHECK(lines.empty());
  CHECK(records[1].why == http::refusal::none);
}

CONFORMANCE("http: a handler whose time is over may still respond itself") {
  endless all;
  http::router site;
  const http::route_options most{.handler_timeout = a_moment};
  site.get(
          "/sends",
          [&](http::request&, http::response& r) -> task<> {
            co_await all.wait();
            r.status(204).send();
          },
          most)
      .get(
          "/fails",
          [&](http::request&, http::response&) -> task<> {
            co_await all.wait();
            throw http::failure(504, "the backend is slow");
          },
          most);
  served s(site);
  const auto seen = s.ask(get("/sends") + last_get("/fails"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].status == 204);
  CHECK(seen[1].status == 504);
  CHECK(seen[1].body == "the backend is slow\n");
  CHECK(late_of(s.server) == 0);
}

CONFORMANCE("http: a response that was begun is cut when the time of its handler is over") {
  for (const bool has_length : {false, true}) {
    CAPTURE(has_length);
    endless all;
    http::router site;
    site.get("/",
             [&](http::request&, http::response& r) -> task<> {
               if (has_length) r.content_length(8);
               const beck::const_buffer part("part", 4);
               beck::ignore(co_await beck::async_write(r, part));
               co_await all.wait();
             },
             {.handler_timeout = a_moment});
    served s(site);
    const auto seen = s.ask(get("/") + get("/"));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == 200);
    CHECK(seen[0].body == "part");
    CHECK(!seen[0].whole);
    CHECK(s.server.stats().cut == 1);
    CHECK(late_of(s.server) == 1);
    CHECK(s.server.stats().failed == 0);
  }
}

CONFORMANCE("http: the limit of a handler ends with its response") {
  endless all;
  int ended = 0;
  http::router site;
  const auto rest = [&](http::request& q) -> task<> {
    beck::steady_timer timer(q.get_executor(), beck::duration(5'000'000));
    auto rang = co_await timer.async_wait();
    if (!rang.error()) ++ended;
  };
  site.get("/sent",
           [&](http::request& q, http::response& r) -> task<> {
             r.send("sent");
             co_await rest(q);
           },
           {.handler_timeout = a_moment});
  site.get("/length",
           [&](http::request&, http::response& r) -> task<> {
             r.content_length(4);
             const beck::const_buffer part("part", 4);
             beck::ignore(co_await beck::async_write(r, part));
             co_await all.wait();
           },
           {.handler_timeout = a_moment});
  served s(site);
  const auto seen = s.ask(get("/sent") + get("/length") + last_get("/sent"));
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].body == "sent");
  CHECK(seen[1].body == "part");
  CHECK(seen[1].whole);
  CHECK(ended == 2);
  CHECK(s.server.stats().cut == 0);
}

CONFORMANCE("http: a function and a handler that is in time have no limit, nor has the next one") {
  http::router site;
  const http::route_options most{.handler_timeout = an_hour};
  int fired = 0;
  site.get("/plain", say_path, {.handler_timeout = a_moment})
      .get(
          "/task",
          [](http::request& q, http::response& r) -> task<> {
            beck::steady_timer timer(q.get_executor(), beck::duration(1'000));
            beck::ignore(co_await timer.async_wait());
            r.send("in time");
          },
          most)
      .get("/free", [&](http::request& q, http::response& r) -> task<> {
        beck::steady_timer timer(q.get_executor(), beck::duration(5'000'000));
        auto rang = co_await timer.async_wait();
        if (!rang.error()) ++fired;
        r.send("free");
      });
  site.get("/short",
           [](http::request& q, http::response& r) -> task<> {
             beck::steady_timer timer(q.get_executor(), beck::duration(1));
             beck::ignore(co_await timer.async_wait());
             r.send("short");
           },
           {.handler_timeout = beck::duration(4'000'000)});
  served s(site);
  const auto seen = s.ask(get("/plain") + get("/task") + get("/short") + last_get("/free"));
  REQUIRE(seen.size() == 4);
  for (const seen_response& one : seen) CHECK(one.status == 200);
  CHECK(fired == 1);  // the limit of the exchange before is not that of this one
  CHECK(late_of(s.server) == 0);
  CHECK(s.ask(last_get("/task")).at(0).body == "in time");
  s.stop();
  s.ctx.restart();
  s.ctx.run();  // no timer of an hour is left
}

CONFORMANCE("http: the limit of a route goes before that of a mount, also inside a handler") {
  endless all;
  const auto waits = [&](http::request&, http::response&) -> task<> { co_await all.wait(); };
  http::router inner, called, site;
  inner.get("/own", waits, {.handler_timeout = a_moment}).get("/mounts", waits);
  called.get("/called", waits, {.handler_timeout = a_moment});
  called.get("/later", waits, {.handler_timeout = a_moment});
  site.mount("/long", inner, {.handler_timeout = an_hour});
  site.mount("/short", inner, {.handler_timeout = beck::duration(2'000'000)});
  site.get("/called", [&](http::request& q, http::response& r) -> task<> { co_await called(q, r); },
           {.handler_timeout = an_hour});
  site.get("/lesser",
           [&](http::request& q, http::response& r) -> task<> {
             beck::steady_timer timer(q.get_executor(), beck::duration(1));
             beck::ignore(co_await timer.async_wait());
             http::router longer;
             longer.get("/lesser", waits, {.handler_timeout = an_hour});
             co_await longer(q, r);
           },
           {.handler_timeout = a_moment});
  served s(site);
  site.get("/later",
           [&](http::request& q, http::response& r) -> task<> {
             beck::steady_timer timer(q.get_executor(), beck::duration(1));
             beck::ignore(co_await timer.async_wait());
             co_await called(q, r);
           },
           {.handler_timeout = an_hour});
  for (const char* path : {"/long/own", "/short/own", "/called", "/lesser", "/later"}) {
    CAPTURE(path);
    const auto seen = s.ask(last_get(path));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].body == late_text);
  }
  CHECK(has(s.ask(last_get("/short/mounts")).at(0).body, "limit: 2 ms"));
  CHECK(late_of(s.server) == 6);
}

CONFORMANCE("http: middlewares see that the time of the handler is over, and the page, too") {
  for (const bool touches : {false, true}) {
    CAPTURE(touches);
    endless all;
    std::string trace;
    http::router site;
    site.use([&](http::request& q, http::response& r, http::next next) -> task<> {
      r.before_head([&trace](http::request&, http::response& head) {
        trace += std::to_string(http::number_of(head.status()));
        head.set("X-Hook", "yes");
      });
      co_await next(q, r);
      trace += 'a';
    });
    site.get("/",
             [&](http::request&, http::response& r) -> task<> {
               if (touches) r.status(201);
               co_await all.wait();
             },
             {.handler_timeout = a_moment});
    served s(site);
    s.server.on_error_page([](http::error_page& page) {
      page.body("a/b", "page " + std::string(http::name_of(page.why())));
    });
    const auto seen = s.ask(last_get("/"));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].status == 503);
    CHECK(seen[0].body == "page handler_late");
    CHECK(has(seen[0].fields, "X-Hook: yes"));
    CHECK(trace == "a503");
  }
}

CONFORMANCE_OVER_BOTH("http: a kept exchange is answered with 503, and sends nothing any more") {
  for (const bool around : {false, true}) {
    CAPTURE(around);
    std::vector<http::exchange> kept;
    std::vector<http::exchange_record> records;
    http::router site;
    if (around) {
      site.use([](http::request& q, http::response& r, http::next next) -> task<> {
        kept_text.put(q, "kept");
        co_await next(q, r);
      });
    }
    site.get("/", [&](http::exchange x) { kept.push_back(std::move(x)); },
             {.handler_timeout = a_moment});
    served s(site);
    s.server.on_finish([&](const http::exchange_record& one) { records.push_back(one); });
    const auto seen = s.ask(get("/", "X-Ask: 7\r\n") + get("/"));
    REQUIRE(seen.size() == 1);  // the connection ends: its exchange has an owner
    CHECK(seen[0].status == 503);
    CHECK(seen[0].body == late_text);
    CHECK(has(seen[0].fields, "Connection: close\r\n"));
    CHECK(late_of(s.server) == 1);
    REQUIRE(records.size() == 1);
    CHECK(records[0].why == http::refusal::handler_late);
    REQUIRE(kept.size() == 1);
    http::request& q = kept[0].request();
    http::response& r = kept[0].response();
    CHECK(q.get("X-Ask") == "7");
    if (around) CHECK(*kept_text.get(q) == "kept");
    CHECK(q.client_left());
    CHECK(!q.body().is_whole());
    r.status(200).set("A", "b").send("too late");
    r.fail(404);
    int done = 0;
    char part[10];
    q.body().async_read_some(beck::buffer(part), [&](error_code ec, std::size_t n) {
      done += ec == std::errc::connection_reset && n == 0 ? 1 : 100;
    });
    r.async_write_some(beck::buffer(part), [&](error_code ec, std::size_t n) {
      done += ec == std::errc::broken_pipe && n == 0 ? 1 : 100;
    });
    r.async_flush([&](error_code ec) { done += ec == std::errc::broken_pipe ? 1 : 100; });
    q.async_wait_gone([&](error_code ec) { done += !ec ? 1 : 100; });
    bool no_tunnel = false;
    beck::co_spawn(
        s.ctx,
        [](http::response& of, bool& is_gone) -> task<> {
          auto taken = co_await of.take_over();
          is_gone = taken.error() == std::errc::broken_pipe;
        }(r, no_tunnel),
        beck::detached);
    s.run_until([&] { return done >= 4 && no_tunnel; });
    CHECK(done == 4);
    s.run_until([&] { return s.server.stats().connections == 0; });
    s.stop();  // does not wait for the object
    kept.clear();
  }
}

CONFORMANCE("http: a kept exchange that has begun its response is cut when its time is over") {
  std::optional<http::exchange> kept;
  http::router site;
  site.get("/",
           [&](http::exchange x) {
             kept.emplace(std::move(x));
             kept->response().async_write_some(beck::const_buffer("part", 4),
                                               [](error_code, std::size_t) {});
           },
           {.handler_timeout = a_moment});
  served s(site);
  const auto seen = s.ask(get("/"));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].body == "part");
  CHECK(!seen[0].whole);
  CHECK(s.server.stats().cut == 1);
  kept.reset();
}

CONFORMANCE("http: a kept exchange that is in time has no limit behind it") {
  std::vector<http::exchange> kept;
  http::router site;
  site.get("/", [&](http::exchange x) { kept.push_back(std::move(x)); },
           {.handler_timeout = an_hour});
  site.get("/sent",
           [&](http::exchange x) {
             x.response().send("sent");
             kept.push_back(std::move(x));
           },
           {.handler_timeout = a_moment});
  served s(site);
  const peer& one = s.start(get("/") + get("/sent") + last_get("/"));
  for (int i = 0; i < 3; ++i) {
    s.run_until([&] { return kept.size() == 1; });
    if (i == 1) {  // its response is whole, so its owner may take its time
      bool rang = false;
      beck::steady_timer timer(s.ctx, beck::duration(5'000'000));
      timer.async_wait([&](error_code) { rang = true; });
      s.run_until([&] { return rang; });
    } else {
      kept[0].response().send("kept");
    }
    kept.clear();
  }
  s.run_until([&] { return one.done; });
  const auto seen = one.responses();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].body == "kept");
  CHECK(seen[1].body == "sent");
  CHECK(seen[2].body == "kept");
  CHECK(late_of(s.server) == 0);
}

CONFORMANCE("http: a tunnel has no limit of a handler") {
  bool rang_in_time = false;
  http::router site;
  site.get("/",
           [&](http::request& q, http::response& r) -> task<> {
             auto taken = co_await r.set(http::field::upgrade, "echo").take_over();
             if (taken.error()) co_return;
             const http::tunnel through = std::move(taken).value();
             beck::steady_timer timer(q.get_executor(), beck::duration(5'000'000));
             auto rang = co_await timer.async_wait();
             rang_in_time = !rang.error();
           },
           {.handler_timeout = a_moment});
  served s(site);
  const std::string seen = s.talk(get("/", "Connection: upgrade\r\nUpgrade: echo\r\n"));
  CHECK(has(seen, "HTTP/1.1 101 "));
  CHECK(rang_in_time);
  CHECK(late_of(s.server) == 0);
}

CONFORMANCE("http: a client that leaves, or a stop, ends a handler with a limit as any other") {
  endless all;
  int started = 0;
  http::router site;
  site.get("/",
           [&](http::request&, http::response&) -> task<> {
             ++started;
             co_await all.wait();
           },
           {.waits_for_events = true, .handler_timeout = an_hour});
  served s(site);
  peer& leaves = s.start(get("/"));
  s.run_until([&] { return started == 1; });
  error_code ec;
  leaves.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
  s.run_until([&] { return s.server.stats().connections == 0; });
  const peer& stays = s.start(get("/"));
  s.run_until([&] { return started == 2; });
  s.stop();
  s.run_until([&] { return stays.done; });
  CHECK(stays.responses().at(0).body == "the server is being stopped\n");
  CHECK(all.errors == std::vector<error_code>(2, beck::error::operation_aborted));
  CHECK(late_of(s.server) == 0);
}
