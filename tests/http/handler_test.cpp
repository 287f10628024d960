// SPDX-License-Identifier: BSL-1.0
// The kinds of handlers: callbacks that keep their exchange, and handlers that choose others.
#include <beck/http/server.hpp>

#include <beck/coro/when_all.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/cancellation.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "support/open_descriptors.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

CONFORMANCE_OVER_BOTH("http: a callback answers at once, later, and in parts") {
  served s([](http::exchange x) {
    if (x.request().path() == "/now") return x.response().send("now");
    auto timer = std::make_shared<beck::steady_timer>(x.get_executor(), beck::duration(1'000'000));
    timer->async_wait([x = std::move(x), timer](error_code) mutable {
      const std::string path(x.request().path());
      if (path == "/later") return x.response().status(201).send(path);
      http::response& r = x.response();
      r.async_write_some(beck::buffer("first ", 6),
                         [x = std::move(x)](error_code, std::size_t) mutable {
                           http::response& again = x.response();
                           again.async_write_some(beck::buffer("second", 6),
                                                  [x = std::move(x)](error_code, std::size_t) {});
                         });
    });
  });
  const auto all =
      s.ask(get("/now") + get("/later") + get("/parts") + get("/now") + last_get("/later"));
  REQUIRE(all.size() == 5);
  CHECK(all[0].body == "now");
  CHECK(all[1].status == 201);
  CHECK(all[1].body == "/later");
  CHECK(all[2].body == "first second");
  CHECK(all[2].whole);
  CHECK(all[3].body == "now");
  CHECK(all[4].body == "/later");
  CHECK(s.server.stats().exchanges == 5);
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: a handler that is a function may read a body that has arrived") {
  std::string text(64, '\0');
  error_code of_read = beck::error::already_started;
  served s([&](http::request& q, http::response& r) {
    if (q.method() == http::method::post) {
      q.body().async_read_some(beck::buffer(text), [&](error_code ec, std::size_t n) {
        of_read = ec;
        text.resize(n);
      });
    }
    r.send(q.path());
  });
  const auto all =
      s.ask("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + last_get("/b"));
  CHECK(!of_read);
  CHECK(text == "hello");
  REQUIRE(all.size() == 2);
  CHECK(all[0].body == "/a");
  CHECK(all[1].body == "/b");
}

CONFORMANCE_OVER_BOTH(
    "http: an exchange that is dropped unanswered is 500, one whose callback throws too") {
  served s([&](http::exchange x) {
    if (x.request().path() == "/throws") throw std::runtime_error("no");
    http::exchange other(std::move(x));
    x = std::move(other);
  });
  const auto all = s.ask(get("/dropped") + get("/throws") + last_get("/dropped"));
  REQUIRE(all.size() == 3);
  for (const seen_response& one : all) CHECK(one.status == 500);
  CHECK(s.server.stats().failed == 3);
}

CONFORMANCE_OVER_BOTH("http: an exchange that is assigned to ends the one before") {
  std::vector<http::exchange> kept;
  served s([&](http::exchange x) {
    if (kept.empty()) {
      kept.push_back(std::move(x));
    } else {
      kept[0] = std::move(x);
      kept[0].response().send("the second");
      kept.clear();
    }
  });
  peer& first = s.start(get("/"));
  s.run_until([&] { return !kept.empty(); });
  peer& second = s.start(last_get("/"));
  s.wait_for(second, 1);
  s.wait_for(first, 1);
  CHECK(first.responses()[0].status == 500);
  CHECK(second.responses()[0].body == "the second");
}

CONFORMANCE_OVER_BOTH("http: the body of a request reaches a callback's exchange") {
  char part[100];
  served s([&](http::exchange x) {
    auto body = x.request().body();
    body.async_read_some(beck::buffer(part),
                         [x = std::move(x), &part](error_code ec, std::size_t n) mutable {
                           x.response().send(ec ? std::string("failed") : std::string(part, n));
                         });
  });
  const auto all =
      s.ask("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody", 1);
  REQUIRE(all.size() == 1);
  CHECK(all[0].body.substr(0, 1) == "b");
}

CONFORMANCE_OVER_BOTH(
    "http: an exchange whose peer has gone can be answered, and nothing happens") {
  std::vector<http::exchange> kept;
  served s([&](http::exchange x) { kept.push_back(std::move(x)); });
  peer& one = s.start(get("/"));
  s.run_until([&] { return !kept.empty(); });
  error_code ec;
  one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  one.socket.close();
  std::optional<error_code> written;
  while (!written || *written != std::errc::broken_pipe) {
    written.reset();
    kept[0].response().async_write_some(beck::buffer("x", 1),
                                        [&](error_code failed, std::size_t) { written = failed; });
    s.run_until([&] { return written.has_value(); });
  }
  CHECK(s.server.stats().connections == 1);
  kept.clear();
  s.run_until([&] { return s.server.stats().connections == 0; });
}

CONFORMANCE_OVER_BOTH("http: a context ends while callbacks hold exchanges") {
  const auto before = beck::test::open_descriptors();
  {
    served s([&](http::exchange x) {
      auto timer =
          std::make_shared<beck::steady_timer>(x.get_executor(), beck::duration(3'600'000'000'000));
      timer->async_wait([x = std::move(x), timer](error_code) {});
    });
    for (int i = 0; i < 4; ++i) s.start(get("/"));
    s.run_until([&] { return s.server.stats().connections == 4; });
    for (int i = 0; i < 20; ++i) s.ctx.poll();
  }
  CHECK(beck::test::open_descriptors() == before);
}

namespace {

/// Writes until the peer does not take more. Each write owns the exchange.
void write_on(http::exchange x, bool& waits) {
  static const std::string text(16'384, 'a');
  http::response& r = x.response();
  waits = true;
  r.async_write_some(beck::buffer(text),
                     [x = std::move(x), &waits](error_code ec, std::size_t) mutable {
                       waits = false;
                       if (!ec) write_on(std::move(x), waits);
                     });
}

}  // namespace

CONFORMANCE_OVER_BOTH(
    "http: a context ends while writes that own their exchanges wait for the peer") {
  const auto before = beck::test::open_descriptors();
  {
    bool waits = false;
    bool flushes = false;
    const std::string large(8'000'000, 'a');
    served s([&](http::exchange x) {
      if (x.request().path() == "/write") return write_on(std::move(x), waits);
      x.response().send(large);
      http::response& r = x.response();
      flushes = true;
      r.async_flush([x = std::move(x), &flushes](error_code) { flushes = false; });
    });
    s.start_deaf(get("/write"));
    s.start_deaf(get("/flush"));
    s.run_until([&] { return s.server.stats().connections == 2; });
    for (int i = 0; i < 2000; ++i) s.ctx.poll();
    CHECK(waits);
    CHECK(flushes);
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE_OVER_BOTH(
    "http: a write that waits ends with its exchange, and reaches no other response") {
  std::vector<http::exchange> kept;
  error_code written;
  bool waits = false;
  served s([&](http::exchange x) { kept.push_back(std::move(x)); });
  s.start_deaf(get("/"));
  s.run_until([&] { return !kept.empty(); });
  const std::string text(16'384, 'a');
  while (!waits) {
    waits = true;
    kept[0].response().async_write_some(beck::buffer(text), [&](error_code ec, std::size_t) {
      waits = false;
      written = ec;
    });
    for (int i = 0; i < 100 && waits; ++i) s.ctx.poll();
  }
  CHECK(!written);
  error_code beside, flushed, again;
  kept[0].response().async_write_some(beck::buffer(text),
                                      [&](error_code ec, std::size_t) { beside = ec; });
  kept[0].response().async_flush([&](error_code ec) { flushed = ec; });
  kept[0].response().async_flush([&](error_code ec) { again = ec; });
  for (int i = 0; i < 100; ++i) s.ctx.poll();
  CHECK(beside == beck::error::already_started);
  CHECK(again == beck::error::already_started);
  CHECK(!flushed);
  CHECK(waits);
  kept.clear();
  s.run_until([&] { return !waits; });
  CHECK(written == beck::error::operation_aborted);
}

CONFORMANCE_OVER_BOTH(
    "http: a read that is left behind by its exchange ends, and the connection with it") {
  for (const bool started : {false, true}) {
    CAPTURE(started);
    std::vector<http::exchange> kept;
    std::optional<error_code> read;
    char part[100];
    bool called = false;
    served s([&](http::exchange x) {
      called = true;
      x.request().body().async_read_some(beck::buffer(part),
                                         [&](error_code ec, std::size_t) { read = ec; });
      x.response().send("early");
      if (started) kept.push_back(std::move(x));
    });
    const peer& one = s.start("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    s.run_until([&] { return called; });
    for (int i = 0; i < 20; ++i) s.ctx.poll();
    kept.clear();
    s.run_until([&] { return read.has_value() && one.done; });
    CHECK(*read == std::errc::connection_reset);
    CHECK(s.server.stats().exchanges == 1);
  }
}

CONFORMANCE_OVER_BOTH("http: a read that is cancelled before it begins takes no byte of the body") {
  std::optional<error_code> cancelled, read;
  char part[100];
  std::size_t bytes = 0;
  std::optional<http::exchange> kept;
  beck::cancellation_signal stop;
  const auto read_again = [&](error_code ec, std::size_t) {
    cancelled = ec;
    kept->request().body().async_read_some(beck::buffer(part), [&](error_code why, std::size_t n) {
      read = why;
      bytes = n;
    });
  };
  served s([&](http::exchange x) {
    kept = std::move(x);
    kept->request().body().async_read_some(beck::buffer(part),
                                           beck::bind_cancellation_slot(stop.slot(), read_again));
    stop.emit(beck::cancellation_type::terminal);
  });
  peer& one = s.start("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
  s.run_until([&] { return cancelled.has_value(); });
  CHECK(*cancelled == beck::error::operation_aborted);
  s.send(one, "body");
  s.run_until([&] { return read.has_value(); });
  CHECK(!*read);
  CHECK(bytes != 0);  // maybe not the whole of it yet
  CHECK(std::string_view("body").starts_with(std::string_view(part, bytes)));
  kept->response().send("done");
  kept.reset();
  s.wait_for(one, 1);
}

namespace {

/// Chooses among three handlers by the first letter of the path.
struct chooser {
  http::detail::route_choice choose(http::request& q) {
    const std::string_view path = q.path();
    if (path == "/task") return {&http::detail::handler_table_of<decltype(&count_body)>, &task_, 4};
    if (path == "/late") return {&http::detail::handler_table_of<decltype(&later)>, &later_, 0};
    return {&http::detail::handler_table_of<decltype(&say_path)>, &plain_, 0};
  }
  static void later(http::exchange x) { x.response().send("late"); }

  decltype(&say_path) plain_ = &say_path;
  decltype(&count_body) task_ = &count_body;
  decltype(&later) later_ = &later;
};

}  // namespace

CONFORMANCE_OVER_BOTH(
    "http: a handler that chooses others serves through each, with its own limit of bodies") {
  served s(chooser{});
  const std::string head = "POST /task HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  const auto all = s.ask(get("/a") + head + "4\r\n\r\nbody" + get("/late") + head + "5\r\n\r\n");
  REQUIRE(all.size() == 4);
  CHECK(all[0].body == "/a");
  CHECK(all[1].body == "4");
  CHECK(all[2].body == "late");
  CHECK(all[3].status == 413);
}

CONFORMANCE_OVER_BOTH(
    "http: two reads at once, which no handler may begin, do not end the server") {
  bool begun = false;
  served s([&](http::request& q, http::response& r) -> task<> {
    begun = true;
    char a[100], b[100];
    http::request_body body = q.body();
    auto one = body.async_read_some(beck::buffer(a));
    auto other = body.async_read_some(beck::buffer(b));
    beck::ignore(co_await beck::when_all(std::move(one), std::move(other)));
    r.send("x");
  });
  peer& one = s.start(get("/", "Content-Length: 1000\r\n"));
  s.run_until([&] { return begun; });
  error_code ec;
  one.socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  s.run_until([&] { return one.done; });
  CHECK(one.received.substr(0, 12) == "HTTP/1.1 200");
}
