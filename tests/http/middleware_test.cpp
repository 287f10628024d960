// SPDX-License-Identifier: BSL-1.0
// Middlewares: their order, what they see of the request and its route, what becomes of exceptions
// and of calls that they do not make, and handlers of every kind behind them.
#include <beck/http/middleware.hpp>
#include <beck/http/router.hpp>
#include <beck/http/static_files.hpp>

#include <beck/coro/local_key.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

constinit const http::route_key<bool> is_public;
constinit const http::route_key<int> role;
constinit const beck::local_key<int> number;

std::string ask_for(std::string_view method, std::string_view path, std::string_view more = {}) {
  return std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" +
         std::string(more) + "\r\n";
}

/// Writes a letter before and behind the rest.
auto note(std::string& trace, char letter) {
  return [&trace, letter](http::request& q, http::response& r, http::next next) -> task<> {
    trace += letter;
    co_await next(q, r);
    trace += letter;
  };
}

/// Writes a letter, and passes the request on without a coroutine.
auto pass(std::string& trace, char letter) {
  return [&trace, letter](http::request& q, http::response& r, http::next next) {
    trace += letter;
    return next(q, r);
  };
}

/// Sets a field that says what the route is.
http::pending show_route(http::request& q, http::response& r, http::next next) {
  const int* const of = q.route().get(role);
  r.set("X-Route", std::string(q.route() ? "yes " : "no ") + std::string(q.route().pattern()));
  r.set("X-Role", of != nullptr ? std::to_string(*of) : "none");
  return next(q, r);
}

void fail(http::request&, http::response&) { throw std::runtime_error("plain"); }

task<> fail_later(http::request& q, http::response&) {
  beck::steady_timer timer(q.get_executor(), beck::duration(1'000));
  beck::ignore(co_await timer.async_wait());
  throw std::runtime_error("later");
}

/// Answers with the message of an exception.
task<> catch_all(http::request& q, http::response& r, http::next next) {
  std::string text;
  try {
    co_await next(q, r);
  } catch (const std::exception& e) {
    text = e.what();
  }
  if (!text.empty()) r.status(418).send(text);
}

std::string value_of(const std::string& head, std::string_view name) {
  const std::size_t at = head.find(std::string(name) + ": ");
  if (at == head.npos) return "-";
  const std::size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find('\r', begin) - begin);
}

}  // namespace

CONFORMANCE("http: middlewares are around all that a router answers, the first one outermost") {
  std::string trace;
  http::router inner, site;
  site.get("/before", say_path);
  site.use(note(trace, 'a'), pass(trace, 'b'), note(trace, 'c'));
  inner.get("/x", say_path).use(note(trace, 'd'));
  site.use(pass(trace, 'e')).get("/after", say_path).mount("/in", inner);
  served s(site);
  const struct {
    std::string request, trace;
    unsigned status;
  } cases[] = {
      {get("/before"), "abceca", 200},
      {get("/after"), "abceca", 200},
      {get("/in/x"),
       "abcedd"
       "ca",
       200},
      {get("/in/none"),
       "abcedd"
       "ca",
       404},
      {get("/none"), "abceca", 404},
      {ask_for("PUT", "/before"), "abceca", 405},
      {ask_for("OPTIONS", "/before"), "abceca", 204},
      {ask_for("OPTIONS", "*"), "abceca", 204},
      {ask_for("PROPFIND", "/before"), "abceca", 501},
      {get("/a/../b"), "abceca", 400},
      {ask_for("POST", "/none", "Content-Length: 99999999\r\n"), "abceca", 413},
  };
  for (const auto& one : cases) {
    CAPTURE(one.request);
    trace.clear();
    const auto all = s.ask(one.request + (one.status == 413 ? "" : last_get("/before")));
    REQUIRE(!all.empty());
    CHECK(all[0].status == one.status);
    CHECK(trace.substr(0, one.trace.size()) == one.trace);
  }
}

CONFORMANCE("http: a middleware knows the route and its values before the handler runs") {
  http::router deep, inner, site;
  deep.get("/rows/{table}", say_path, {.values = {role(3), is_public(true)}})
      .get("/plain", say_path);
  inner.mount("/d/", deep, {.values = {role(2)}}).otherwise(say_path);
  site.use(&show_route).mount("/in", inner, {.values = {role(1)}}).get("/{id}/x", say_path);
  site.mount("/files", http::static_files("/nowhere"));
  served s(site);
  const struct {
    const char* path;
    const char* route;
    const char* role;
  } cases[] = {
      {"/7/x", "yes /{id}/x", "none"},
      {"/in/d/rows/a", "yes /in/d/rows/{table}", "3"},
      {"/in/d/plain", "yes /in/d/plain", "2"},
      {"/in/other", "yes /in", "1"},
      {"/files/a", "yes /files", "none"},
      {"/in/d/none", "no ", "2"},
      {"/none", "no ", "none"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.path);
    const auto all = s.ask(get(one.path) + last_get(one.path));
    REQUIRE(all.size() == 2);
    for (const seen_response& each : all) {
      CHECK(value_of(each.fields, "X-Route") == one.route);
      CHECK(value_of(each.fields, "X-Role") == one.role);
    }
  }
}

CONFORMANCE("http: the handler of a server without a router counts as a route") {
  served s(http::with(&show_route, [](http::request&, http::response& r) { r.send("x"); }));
  const auto all = s.ask(last_get("/a"));
  REQUIRE(all.size() == 1);
  CHECK(value_of(all[0].fields, "X-Route") == "yes ");
}

CONFORMANCE("http: otherwise() answers what no pattern matches, and nothing else") {
  http::router site;
  site.get("/x", say_path)
      .otherwise(
          [](http::request& q, http::response& r) -> task<> {
            r.send("other " + std::string(q.path()));
            co_return;
          },
          {.body_bytes = 4});
  CHECK_THROWS_AS(site.otherwise(say_path), std::invalid_argument);
  served s(site);
  const auto all = s.ask(get("/x") + get("/y/z") + ask_for("DELETE", "/a") + ask_for("PUT", "/x") +
                         get("/%00") + ask_for("POST", "/y", "Content-Length: 5\r\n"));
  REQUIRE(all.size() == 6);
  CHECK(all[0].body == "/x");
  CHECK(all[1].body == "other /y/z");
  CHECK(all[2].body == "other /a");
  CHECK(all[3].status == 405);
  CHECK(all[4].status == 400);
  CHECK(all[5].status == 413);
}

CONFORMANCE("http: handlers of every kind run behind middlewares of both kinds") {
  std::string trace;
  const auto both = [&trace](auto handler) {
    return http::with(pass(trace, 'a'), note(trace, 'b'), std::move(handler));
  };
  http::router site;
  std::optional<http::exchange> kept;
  site.get("/plain", both(say_path))
      .get("/task", both([](http::request& q, http::response& r) -> task<> {
             beck::steady_timer timer(q.get_executor(), beck::duration(1'000));
             beck::ignore(co_await timer.async_wait());
             r.send(q.path());
           }))
      .get("/awaitable", both([](http::request& q, http::response& r) -> beck::awaitable<> {
             r.send(q.path());
             co_return;
           }))
      .get("/pending", both([](http::request& q, http::response& r) -> http::pending {
             r.send(q.path());
             return {};
           }))
      .get("/exchange", both([](http::exchange x) { x.response().send(x.request().path()); }))
      .get("/kept", both([&kept](http::exchange x) { kept.emplace(std::move(x)); }));
  served s(site);
  for (const char* path : {"/plain", "/task", "/awaitable", "/pending", "/exchange"}) {
    CAPTURE(path);
    trace.clear();
    const auto all = s.ask(get(path) + last_get(path));
    REQUIRE(all.size() == 2);
    for (const seen_response& one : all) CHECK(one.body == path);
    CHECK(trace == "abbabb");
  }
  trace.clear();
  peer& waits = s.start(last_get("/kept"));
  s.run_until([&] { return kept.has_value(); });
  for (int i = 0; i < 10; ++i) s.ctx.poll();
  CHECK(trace == "ab");  // the rest of the chain waits for the end of the exchange
  kept->response().send("answered");
  kept.reset();
  s.run_until([&] { return waits.done; });
  CHECK(trace == "abb");
  CHECK(waits.responses().at(0).body == "answered");
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE("http: exceptions of handlers come out of the rest of the chain") {
  std::string trace;
  http::router site;
  site.use(pass(trace, 'a'), &catch_all, note(trace, 'b'));
  site.get("/plain", fail).get("/later", fail_later).get("/good", say_path);
  served s(site);
  const auto all = s.ask(get("/plain") + get("/later") + last_get("/good"));
  REQUIRE(all.size() == 3);
  CHECK(all[0].status == 418);
  CHECK(all[0].body == "plain");
  CHECK(all[1].body == "later");
  CHECK(all[2].body == "/good");
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE("http: an exception that no middleware catches is 500, or cuts a response") {
  std::vector<std::string> thrown;
  http::router site;
  site.use([](http::request& q, http::response& r, http::next next) -> http::pending {
    if (q.path() == "/early") throw std::runtime_error("early");
    return next(q, r);
  });
  site.use([](http::request& q, http::response& r, http::next next) -> task<> {
    if (q.path() == "/middle") throw std::runtime_error("middle");
    co_await next(q, r);
    if (q.path() == "/behind") throw std::runtime_error("behind");
  });
  site.get("/early", say_path).get("/middle", say_path).get("/plain", fail);
  site.get("/later", fail_later).get("/behind", say_path);
  served s(site);
  note_thrown(s.server, thrown);
  const auto all =
      s.ask(get("/early") + get("/middle") + get("/plain") + get("/later") + get("/behind"));
  REQUIRE(all.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(all[i].status == 500);
    CHECK(all[i].body == "the handler failed\n");
  }
  CHECK(all[4].body == "/behind");  // it was sent; the connection then ends
  CHECK(thrown == std::vector<std::string>{"early", "middle", "plain", "later", "behind"});
  CHECK(s.server.stats().failed == 5);
  CHECK(s.server.stats().cut == 1);
}

CONFORMANCE(
    "http: a middleware that answers, or does nothing, keeps the request from the handler") {
  int called = 0;
  http::router site;
  site.use([](http::request& q, http::response& r, http::next next) -> http::pending {
    if (q.path() == "/silent") return {};
    if (q.path() == "/dropped") {
      static_cast<void>(next(q, r));
      return {};
    }
    if (q.path() != "/denied") return next(q, r);
    r.status(401).send("who?\n");
    return {};
  });
  const auto handler = [&called](http::request&, http::response& r) -> task<> {
    ++called;
    r.send("called");
    co_return;
  };
  site.get("/silent", handler).get("/dropped", handler).get("/denied", handler).get("/", handler);
  served s(site);
  const auto all = s.ask(get("/silent") + get("/dropped") + get("/denied") + last_get("/"));
  REQUIRE(all.size() == 4);
  CHECK(all[0].status == 500);
  CHECK(all[0].body == "the handler did not respond\n");
  CHECK(all[1].status == 500);
  CHECK(all[2].status == 401);
  CHECK(all[3].body == "called");
  CHECK(called == 1);
}

CONFORMANCE("http: a middleware may run the rest again if nothing was sent") {
  int called = 0;
  http::router site;
  site.use([](http::request& q, http::response& r, http::next next) -> task<> {
    bool again = false;
    try {
      co_await next(q, r);
    } catch (const std::runtime_error&) {
      again = true;
    }
    if (again || q.path() == "/twice") co_await next(q, r);
  });
  site.get("/retry", [&called](http::request& q, http::response& r) {
    if (++called == 1) throw std::runtime_error("not yet");
    r.send(q.path());
  });
  site.get("/twice", [](http::request&, http::response& r) { r.set("X-A", "b").send("once"); });
  served s(site);
  bool has_thrown = false;
  s.server.on_finish([&](const http::exchange_record& one) { has_thrown = one.thrown != nullptr; });
  const auto all = s.ask(get("/retry") + get("/twice") + get("/retry"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].body == "/retry");
  CHECK(called == 2);
  CHECK(all[1].body == "once");  // the second set() has thrown, and the connection has ended
  CHECK(has_thrown);
  CHECK(s.server.stats().cut == 1);
}

CONFORMANCE("http: a handler that keeps its exchange is not called again") {
  std::optional<http::exchange> kept;
  std::string what;
  served s(http::with(
      [&what](http::request& q, http::response& r, http::next next) -> task<> {
        static_cast<void>(next(q, r));
        try {
          co_await next(q, r);
        } catch (const std::logic_error& e) {
          what = e.what();
        }
      },
      [&kept](http::exchange x) { kept.emplace(std::move(x)); }));
  peer& one = s.start(last_get("/"));
  s.run_until([&] { return !what.empty(); });
  REQUIRE(kept.has_value());
  for (int i = 0; i < 10; ++i) s.ctx.poll();
  CHECK(!one.done);  // the exchange outlives the middleware
  kept->response().send("late");
  kept.reset();
  s.run_until([&] { return one.done; });
  CHECK(one.responses().at(0).body == "late");
  CHECK(what == "http: a handler that has kept its exchange is called again");
}

CONFORMANCE("http: time limits and local values reach through a chain") {
  error_code of_wait;
  int seen = 0;
  http::router site;
  site.use([](http::request& q, http::response& r, http::next next) -> task<> {
    co_await number.with(7, next(q, r));
  });
  site.use([](http::request& q, http::response& r, http::next next) -> task<> {
    auto in_time = co_await beck::timeout(next(q, r).into_task(), beck::duration(2'000'000));
    if (in_time.error() == beck::error::timeout) r.status(503).send("late\n");
  });
  site.get("/plain", say_path);
  site.get("/slow", [&](http::request& q, http::response&) -> task<> {
    const int* const of = co_await number.get();
    seen = of != nullptr ? *of : -1;
    beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
    auto waited = co_await timer.async_wait();
    of_wait = waited.error();
  });
  served s(site);
  const auto all = s.ask(get("/slow") + last_get("/plain"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 503);
  CHECK(of_wait == beck::error::timeout);
  CHECK(seen == 7);
  CHECK(all[1].body == "/plain");
}

CONFORMANCE("http: a reset stops a handler behind middlewares") {
  error_code of_wait;
  bool waits = false;
  std::string trace;
  http::router site;
  site.use(note(trace, 'a'));
  site.get("/", [&](http::request& q, http::response&) -> task<> {
    beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
    waits = true;
    auto waited = co_await timer.async_wait();
    of_wait = waited.error();
  });
  served s(site);
  peer& one = s.start(get("/"));
  s.run_until([&] { return waits; });
  error_code ec;
  one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  one.socket.close();
  s.run_until([&] { return trace == "aa"; });
  CHECK(of_wait == beck::error::operation_aborted);
}

CONFORMANCE("http: a router inside a handler has its middlewares, also around exchanges") {
  std::string trace;
  http::router site;
  site.use(note(trace, 'a')).get("/x", say_path).post("/x", say_path, {.body_bytes = 4});
  site.get("/later", [](http::exchange x) { x.response().send(x.request().path()); });
  served s([site, &trace](http::request& q, http::response& r) -> task<> {
    trace += '(';
    co_await site(q, r);
    trace += ')';
  });
  const std::string long_post = ask_for("POST", "/x", "Content-Length: 5\r\n");
  const auto all = s.ask(get("/x") + get("/later") + get("/none") + long_post);
  REQUIRE(all.size() == 4);
  CHECK(all[0].body == "/x");
  CHECK(all[1].body == "/later");
  CHECK(all[2].status == 404);
  CHECK(all[3].status == 413);
  CHECK(trace == "(aa)(aa)(aa)(aa)");
}

CONFORMANCE("http: the middlewares of routers in each other end at a bound") {
  std::string trace;
  http::router inner, site;
  for (int i = 0; i < 9; ++i) site.use(pass(trace, 'a'));
  for (int i = 0; i < 8; ++i) inner.use(pass(trace, 'b'));
  inner.get("/", say_path);
  site.get("/", say_path).mount("/in", inner);
  served s(site);
  const auto all = s.ask(get("/") + last_get("/in"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 200);
  CHECK(all[1].status == 500);  // never the handler without its middlewares
}

CONFORMANCE("http: a router that has served a request is not changed") {
  http::router inner, site;
  inner.get("/a", say_path);
  site.mount("/in", inner).get("/a", say_path);
  served s(site);
  CHECK(s.ask(last_get("/in/a"))[0].status == 200);
  std::string trace;
  CHECK_THROWS_AS(site.get("/b", say_path), std::logic_error);
  CHECK_THROWS_AS(inner.mount("/b", say_path), std::logic_error);
  CHECK_THROWS_AS(inner.otherwise(say_path), std::logic_error);
  CHECK_THROWS_AS(site.use(pass(trace, 'a')), std::logic_error);
}

TEST_CASE("http: a router destroys its middlewares once, also those that it refuses") {
  const auto count = std::make_shared<int>(0);
  const auto one = [count](http::request& q, http::response& r, http::next next) {
    return next(q, r);
  };
  {
    http::router site;
    for (int i = 0; i < 16; ++i) site.use(one);
    CHECK(count.use_count() == 18);
    CHECK_THROWS_AS(site.use(one, one), std::length_error);
    CHECK(count.use_count() == 18);
    site.otherwise(http::with(one, one, say_path));
    CHECK(count.use_count() == 20);
  }
  CHECK(count.use_count() == 2);
}

TEST_CASE("http: a pending is moved, finished, or a task that ends with it") {
  const auto count = std::make_shared<int>(0);
  const auto work = [](std::shared_ptr<int>) -> task<> { co_return; };
  http::pending none;
  http::pending left(work(count));
  CHECK(count.use_count() == 2);
  http::pending other(std::move(left));
  CHECK(count.use_count() == 2);
  none = std::move(other);
  CHECK(!none.is_finished());
  CHECK((other.is_finished() && left.is_finished()));
  none = http::pending();
  CHECK(none.is_finished());
  CHECK(count.use_count() == 1);
}
