// SPDX-License-Identifier: BSL-1.0
// Server-sent events at a server: their text, comments while there are none, and the ends of
// clients and of the server.
#include <beck/http/event_stream.hpp>
#include <beck/http/router.hpp>

#include <beck/coro/event.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <deque>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/both_streams.hpp"
#include "http/message/event_parser.hpp"
#include "http/served.hpp"
#include "http/server_site.hpp"
#include "support/report.hpp"
#include "support/small_random.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// A site whose handlers send what they are told to.
struct event_site {
  http::router routes() {
    http::router made;
    made.get("/", [this](http::request& q, http::response& r) -> task<> {
      http::event_stream events(q, r, how);
      last_ids.emplace_back(events.last_id());
      ++listening;
      const at_end leave(*this);
      for (const auto& one : first) {
        auto sent = co_await events.send(one);
        last_error = sent.error();
      }
      auto came = co_await end.wait();
      if (came.error()) ++stopped;
    });
    return made;
  }
  struct at_end {
    explicit at_end(event_site& in) noexcept : of(in) {}
    at_end(const at_end&) = delete;
    at_end& operator=(const at_end&) = delete;
    ~at_end() { --of.listening; }
    event_site& of;
  };

  http::event_options how;
  std::vector<http::sent_event> first;
  std::vector<std::string> last_ids;
  beck::manual_reset_event end;
  error_code last_error;
  int listening = 0, stopped = 0;
};

std::string body_with(const std::vector<http::sent_event>& events, http::event_options how = {}) {
  event_site all;
  all.how = how;
  all.first = events;
  all.end.set();
  served s(all.routes());
  const auto seen = s.ask(last_get("/"));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].status == 200);
  CHECK(seen[0].whole);
  return seen[0].body;
}

}  // namespace

CONFORMANCE_OVER_BOTH("http events: their texts are fields, lines of data one each") {
  CHECK(body_with({}) == ":\n\n");
  CHECK(body_with({}, {.retry = 1500ms}) == "retry: 1500\n\n");
  CHECK(body_with({}, {.retry = 900us}) == ":\n\n");
  CHECK(body_with({{.data = "hello"}}) == ":\n\ndata: hello\n\n");
  CHECK(body_with({{.name = "tick", .data = "1", .id = "7"}, {.data = "2"}}) ==
        ":\n\nevent: tick\nid: 7\ndata: 1\n\ndata: 2\n\n");
  CHECK(body_with({{.data = "a\nb\r\nc\rd"}}) == ":\n\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
  CHECK(body_with({{.data = "\n\r\r\n"}}) == ":\n\ndata: \ndata: \ndata: \ndata: \n\n");
  CHECK(body_with({{.data = "a\n"}}) == ":\n\ndata: a\ndata: \n\n");
  CHECK(body_with({{.name = "n"}}) == ":\n\nevent: n\ndata: \n\n");
  CHECK(body_with({{.data = " x: y"}}) == ":\n\ndata:  x: y\n\n");
  const std::string large(300'000, 'x');
  CHECK(body_with({{.data = large}, {.data = "y"}}) == ":\n\ndata: " + large + "\n\ndata: y\n\n");
}

CONFORMANCE_OVER_BOTH("http events: the response begins at once, with fields against buffers") {
  event_site all;
  served s(all.routes());
  peer& one = s.start(get("/", "Last-Event-ID: 41\r\n"));
  s.run_until([&] { return has(one.received, ":\n\n"); });
  CHECK(all.listening == 1);
  CHECK(has(one.received, "HTTP/1.1 200 OK\r\n"));
  CHECK(has(one.received, "Content-Type: text/event-stream\r\n"));
  CHECK(has(one.received, "Cache-Control: no-store\r\n"));
  CHECK(has(one.received, "X-Accel-Buffering: no\r\n"));
  CHECK(has(one.received, "Transfer-Encoding: chunked\r\n"));
  CHECK(all.last_ids == std::vector<std::string>{"41"});
  all.end.set();
  s.wait_for(one, 1);
  s.send(one, last_get("/"));  // the connection goes on
  s.run_until([&] { return one.done; });
  CHECK(one.responses().size() == 2);
  CHECK(all.last_ids == std::vector<std::string>{"41", ""});
}

CONFORMANCE_OVER_BOTH("http events: fields that the handler has set stay, and 204 ends a browser") {
  served s([](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/no") co_return r.status(204).send();
    r.set("Cache-Control", "private").set("x-accel-buffering", "yes");
    http::event_stream events(q, r);
    CHECK(r.has_begun());
    CHECK_THROWS_AS(http::event_stream(q, r), std::logic_error);
  });
  const auto seen = s.ask(get("/no") + last_get("/"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].status == 204);
  CHECK(has(seen[1].fields, "Cache-Control: private\r\n"));
  CHECK(has(seen[1].fields, "x-accel-buffering: yes\r\n"));
  CHECK(!has(seen[1].fields, "no-store"));
  CHECK(seen[1].whole);
}

CONFORMANCE_OVER_BOTH("http events: names, ids and options that cannot be are refused") {
  using namespace std::string_view_literals;
  int refused = 0;
  served s([&](http::request& q, http::response& r) -> task<> {
    const http::event_options bad[] = {{.keep_alive = beck::duration(-1)},
                                       {.retry = beck::duration(-1)}};
    for (const auto& how : bad) {
      CHECK_THROWS_AS(http::event_stream(q, r, how), std::invalid_argument);
      CHECK(!r.has_begun());
    }
    http::event_stream events(q, r);
    for (const http::sent_event& one :
         {http::sent_event{.name = "a\nb"}, http::sent_event{.name = "a\r"},
          http::sent_event{.id = "\n"}, http::sent_event{.id = "a\rb"},
          http::sent_event{.id = "a\0"sv}}) {
      try {
        beck::ignore(co_await events.send(one));
      } catch (const std::invalid_argument&) {
        ++refused;
      }
    }
    auto sent = co_await events.send({.name = "a\0b"sv, .data = "\0"sv});
    CHECK(!sent.error());
  });
  const auto seen = s.ask(last_get("/"));
  REQUIRE(seen.size() == 1);
  CHECK(refused == 5);
  CHECK(seen[0].body == ":\n\nevent: a\0b\ndata: \0\n\n"sv);
}

CONFORMANCE_OVER_BOTH("http events: HEAD gets the head, and no event") {
  event_site all;
  all.first = {{.data = "1"}};
  all.end.set();
  served s(all.routes());
  const std::string head = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string text = s.talk(head);
  CHECK(all.last_error == beck::error::eof);
  CHECK(has(text, "HTTP/1.1 200 OK\r\n"));
  CHECK(has(text, "Content-Type: text/event-stream\r\n"));
  CHECK(text.ends_with("\r\n\r\n"));
  CHECK(count_of(text, "\r\n\r\n") == 1);
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH(
    "http events: a handler is stopped when its client leaves, without a setting") {
  for (const bool resets : {false, true}) {
    CAPTURE(resets);
    event_site all;
    served s(all.routes());
    peer& one = s.start(get("/"));
    s.run_until([&] { return has(one.received, ":\n\n"); });
    error_code ec;
    if (resets) {
      one.socket.set_option(beck::socket_base::linger(true, 0), ec);
      one.socket.close();
    } else {
      one.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
    }
    s.run_until([&] { return s.server.stats().connections == 0; });
    CHECK(all.stopped == 1);
    CHECK(all.listening == 0);
    CHECK(s.server.stats().failed == 0);
  }
}

CONFORMANCE_OVER_BOTH("http events: a stop of the server ends the streams, whole") {
  event_site all;
  all.first = {{.data = "1"}};
  served s(all.routes());
  peer& one = s.start(get("/"));
  peer& two = s.start(get("/"));
  s.run_until([&] { return has(one.received, "1\n\n") && has(two.received, "1\n\n"); });
  s.server.stop();
  s.run_until([&] { return s.ended && one.done && two.done; });
  CHECK(all.stopped == 2);
  for (const peer* each : {&one, &two}) {
    REQUIRE(each->responses().size() == 1);
    CHECK(each->responses()[0].whole);
    CHECK(each->responses()[0].body == ":\n\ndata: 1\n\n");
  }
  CHECK(s.server.stats().failed == 0);
}

TEST_CASE("http events: a comment comes when there was no event for the time") {
  event_site all;
  all.how.keep_alive = 15s;
  site s(all.routes());
  peer& one = s.start(get("/"));
  bool over = false;
  co_spawn(s.far, site::receive(one), [&](std::exception_ptr) { over = true; });
  s.world.run_for(14s);
  CHECK(count_of(one.received, ":\n\n") == 1);
  s.world.run_for(2s);
  CHECK(count_of(one.received, ":\n\n") == 2);
  s.world.run_for(60s);
  CHECK(count_of(one.received, ":\n\n") == 6);
  CHECK(all.listening == 1);
  all.end.set();
  s.world.run_for(100s);
  CHECK(one.responses().at(0).body == ":\n\n:\n\n:\n\n:\n\n:\n\n:\n\n");
  CHECK(one.responses().at(0).whole);
  CHECK(all.listening == 0);
  CHECK(over);  // the connection was idle for 75 s
}

TEST_CASE("http events: events put comments off, and no time means no comments") {
  for (const bool keeps : {true, false}) {
    CAPTURE(keeps);
    site s([keeps](http::request& q, http::response& r) -> task<> {
      http::event_stream events(q, r, {.keep_alive = beck::duration::seconds(keeps ? 15 : 0)});
      beck::steady_timer timer(q.get_executor());
      for (int i = 0; i < 20; ++i) {
        auto sent = co_await events.send({.data = "x"});
        CHECK(!sent.error());
        timer.expires_after(keeps ? 14s : 100s);
        beck::ignore(co_await timer.async_wait());
      }
    });
    peer& one = s.start(last_get("/"));
    s.listen_to(one, 1h);
    CHECK(one.done);
    const auto all = one.responses();
    REQUIRE(all.size() == 1);
    CHECK(all[0].whole);
    CHECK(count_of(all[0].body, ":\n\n") == 1);
    CHECK(count_of(all[0].body, "data: x\n\n") == 20);
  }
}

TEST_CASE("http events: a client that is gone without a word is noticed by a comment") {
  event_site all;
  site s(all.routes());
  peer& one = s.start(get("/"), 1s);
  CHECK(all.listening == 1);
  s.world.host("far").crash();
  s.world.host("far").restart();
  s.world.run_for(100s);
  CHECK(all.listening == 0);
  CHECK(all.stopped == 1);
  CHECK(s.server.stats().connections == 0);
  CHECK(one.received.empty());
}

TEST_CASE("http events: a client that takes nothing makes the handler wait, and is cut then") {
  std::size_t taken = 0;
  error_code last;
  bool ended = false;
  site s([&](http::request& q, http::response& r) -> task<> {
    struct note_end {
      explicit note_end(bool& to) noexcept : at(to) {}
      ~note_end() { at = true; }
      bool& at;
    } const note(ended);
    http::event_stream events(q, r);
    const std::string data(10'000, 'x');
    while (!last) {
      auto sent = co_await events.send({.data = data});
      last = sent.error();
      if (!last) ++taken;
    }
  });
  s.start(get("/"), 10s);
  const std::size_t at_first = taken;
  CHECK(at_first > 6);
  CHECK(at_first < 60);  // 64 KiB here, and the buffers of two sockets
  CHECK(!ended);
  s.world.run_for(15s);
  CHECK(taken == at_first);
  s.world.run_for(100s);
  CHECK(ended);
  CHECK(last);
  CHECK(s.server.stats().connections == 0);
}

TEST_CASE("http events: an event that a cancellation cuts is the last one") {
  std::vector<error_code> ends;
  site s([&](http::request& q, http::response& r) -> task<> {
    http::event_stream events(q, r);
    const std::string data(3'000'000, 'x');
    auto cut = co_await beck::timeout(events.send({.data = data}), 1s);
    ends.push_back(cut.error());
    for (int i = 0; i < 2; ++i) {
      auto sent = co_await events.send({.data = "y"});
      ends.push_back(sent.error());
    }
  });
  s.start(get("/"), 10s);
  REQUIRE(ends.size() == 3);
  CHECK(ends[0] == beck::error::timeout);
  CHECK(ends[1] == std::errc::broken_pipe);
  CHECK(ends[2] == std::errc::broken_pipe);
}

TEST_CASE("http events: an event that has not begun may be cancelled, and of two sends one waits") {
  std::vector<error_code> ends;
  int second = 0;
  site s([&](http::request& q, http::response& r) -> task<> {
    http::event_stream events(q, r);
    const std::string data(20'000, 'x');
    error_code full;
    while (!full) {  // until the last one waits for room before its first byte
      auto sent = co_await beck::timeout(events.send({.data = "z"}), 0ms);
      full = sent.error();
      if (full) break;
      auto more =
          co_await beck::timeout(events.send({.data = std::string_view(data).substr(0, 900)}), 0ms);
      full = more.error();
    }
    ends.push_back(full);
    beck::co_spawn(q.get_executor(), events.send({.data = "w"}),
                   [&](std::exception_ptr, auto sent) {
                     CHECK(!sent.error());
                     ++second;
                   });
    beck::steady_timer timer(q.get_executor(), 1s);
    beck::ignore(co_await timer.async_wait());
    auto other = co_await events.send({.data = "v"});
    ends.push_back(other.error());
    timer.expires_after(5s);
    beck::ignore(co_await timer.async_wait());
    auto after = co_await events.send({.data = "u"});
    ends.push_back(after.error());
  });
  peer& one = s.start(last_get("/"), 3s);
  CHECK(second == 0);
  s.listen_to(one, 100s);
  REQUIRE(ends.size() == 3);
  CHECK(ends[0] == beck::error::timeout);
  CHECK(ends[1] == beck::error::already_started);
  CHECK(!ends[2]);
  CHECK(second == 1);
  const auto all = one.responses();
  REQUIRE(all.size() == 1);
  CHECK(all[0].whole);
  CHECK(all[0].body.ends_with("data: w\n\ndata: u\n\n"));
}

namespace {

/// Returns the data of event `n`: some of it more than a connection takes at once.
std::string data_of_event(std::uint64_t seed, int n) {
  const std::uint64_t mixed = seed * 31 + static_cast<std::uint64_t>(n) * 7919;
  const std::size_t bytes = mixed % (mixed % 5 == 0 ? 200'000 : 3'000);
  return std::to_string(n) + '\n' + std::string(bytes, 'x');
}

/// Streams events to clients that read, rest, reset and leave, in a world. Returns the number of
/// events that came.
std::size_t events_in_world(std::uint64_t seed) {
  sim::world world(seed, sim::settings().buffer_sizes(1 + seed * 37 % 3000, 1 + seed * 91 % 3000));
  beck::io_context web(world.host("web")), far(world.host("far"));
  beck::testing::small_random random(seed);
  int inside = 0;
  http::server server([&](http::request& q, http::response& r) -> task<> {
    struct count_inside {
      explicit count_inside(int& in) noexcept : number(in) { ++number; }
      ~count_inside() { --number; }
      int& number;
    } const mine(inside);
    http::event_stream events(q, r, {.keep_alive = seed % 4 == 0 ? 1ms : 1s});
    beck::steady_timer timer(q.get_executor());
    for (int n = 1;; ++n) {
      const std::string id = std::to_string(n);
      const std::string data = data_of_event(seed, n);
      auto sent = co_await events.send({.data = data, .id = id});
      if (sent.error()) co_return;
      timer.expires_after(1ms * random.below(5000));
      auto waited = co_await timer.async_wait();
      if (waited.error()) co_return;
    }
  });
  server.listen(80);
  bool ended = false;
  co_spawn(web, server.serve(), [&](std::exception_ptr) { ended = true; });
  std::deque<peer> peers;
  const std::string text = get("/");
  for (int i = 0; i < 4; ++i) {
    peer& one = peers.emplace_back(far);
    one.socket.async_connect(site::server_at(), [&one, &text](error_code ec) {
      if (ec) return;
      beck::async_write(one.socket, beck::buffer(text), [](error_code, std::size_t) {});
      beck::co_spawn(one.socket.get_executor(), site::receive(one), beck::detached);
    });
  }
  for (int i = 0; i < 10; ++i) {
    world.run_for(1ms * (1 + random.below(9000)));
    peer& one = peers[random.below(4)];
    error_code ec;
    const auto what = random.below(4);
    if (what == 1) one.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
    if (what == 2) one.socket.set_option(beck::socket_base::linger(true, 0), ec);
    if (what == 2 || what == 3) one.socket.close();
  }
  server.stop();
  world.run_for(100s);
  CHECK(ended);
  CHECK(inside == 0);
  CHECK(server.stats().connections == 0);
  CHECK(server.stats().failed == 0);
  std::size_t events = 0;
  for (const peer& one : peers) {
    const auto all = one.responses();
    if (all.empty()) continue;
    http::detail::event_parser parser(http::event_limits{});
    std::string_view left = all[0].body;
    for (int n = 1; parser.parse(left) == http::detail::event_status::event; ++n) {
      std::string name, data;
      parser.take(name, data);
      CHECK(data == data_of_event(seed, n));
      CHECK(parser.last_id() == std::to_string(n));
      ++events;
    }
  }
  return events;
}

}  // namespace

TEST_CASE("http event worlds: events come whole and in order, and no handler stays behind") {
  constexpr std::uint64_t worlds = 100;
  std::size_t events = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    events += events_in_world(seed);
  }
  CHECK(events > worlds);
  beck::test::report_value("events.worlds", worlds);
}
