// SPDX-License-Identifier: BSL-1.0
// The server in simulated worlds: its time limits, without waiting for them, and thousands of
// exchanges with peers that split, stop and reset wherever the seed says.
#include <beck/http/server.hpp>

#include <beck/file/random_access_file.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/transfer/transfer_report.hpp>

#include <chrono>
#include <string>

#include "http/server_site.hpp"
#include "support/report.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// Receives at most 64 KiB in 20 s, until the end.
void read_slowly(site& s, peer& from) {
  for (int i = 0; i < 100 && from.socket.is_open(); ++i) {
    std::string part(65'536, ' ');
    std::size_t bytes = 0;
    from.socket.async_read_some(beck::buffer(part), [&](error_code ec, std::size_t n) {
      from.end = ec;
      bytes = n;
    });
    s.world.run_for(20s);
    from.received.append(part, 0, bytes);
    if (from.end) break;
  }
}

}  // namespace

TEST_CASE("http limits: the time of a head passes while the response before it waits, too") {
  for (std::size_t bytes = 16'384; bytes < 600'000; bytes += 32'768) {  // some just fill the socket
    CAPTURE(bytes);
    site s([bytes](http::request&, http::response& r) { r.send(std::string(bytes, 'x')); },
           {.head_timeout = beck::duration(1s)});
    peer& one = s.start(get("/") + "GET /half");
    s.world.run_for(3s);
    s.listen_to(one, 5s);
    CHECK(one.done);
    const auto all = one.responses();
    REQUIRE(all.size() == 2);
    CHECK(all[0].body.size() == bytes);
    CHECK(all[1].status == 408);
    CHECK(s.server.stats().connections == 0);
  }
}

TEST_CASE("http limits: a connection that stays idle is closed without a response") {
  site s(say_path, {.idle_timeout = 20s});
  peer& silent = s.start(15s);
  CHECK(s.server.stats().connections == 1);
  s.listen_to(silent, 10s);
  CHECK(silent.done);
  CHECK(silent.received.empty());
  peer& kept = s.start(get("/a"), 15s, get("/b"), 15s, get("/c"));
  s.listen_to(kept, 15s);
  CHECK(kept.responses().size() == 3);
  CHECK(!kept.done);
  s.listen_to(kept, 10s);
  CHECK(kept.done);
  CHECK(s.server.stats().connections == 0);
}

TEST_CASE("http limits: a head that comes too slowly is answered with 408") {
  site s(say_path, {.idle_timeout = 60s, .head_timeout = 10s});
  peer& drips = s.start(std::string("GET / HTTP/1.1\r\n"), 4s, std::string("Host: a\r\n"), 4s,
                        std::string("A: b\r\n"), 4s);
  CHECK(s.server.stats().count(http::refusal::head_late) == 1);  // no line has prolonged it
  s.listen_to(drips, 10s);
  CHECK(drips.done);
  REQUIRE(drips.responses().size() == 1);
  CHECK(drips.responses()[0].status == 408);
  CHECK(s.server.stats().count(http::refusal::head_late) == 1);
  peer& in_time = s.start(std::string("GET / HTTP/1.1\r\n"), 9s, std::string("Host: a\r\n\r\n"));
  s.listen_to(in_time, 1s);
  CHECK(in_time.responses().at(0).status == 200);
}

TEST_CASE("http limits: a body that comes too slowly is answered with 408") {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n";
  site s(count_body);
  peer& stops = s.start(head + std::string(5000, 'x'), 40s);
  s.listen_to(stops, 1s);
  REQUIRE(stops.responses().size() == 1);
  CHECK(stops.responses()[0].status == 408);
  peer& drips = s.start(head);
  for (int i = 0; i < 4; ++i) s.both(drips, std::string(200, 'x'), 2s);
  s.listen_to(drips, 1s);
  REQUIRE(drips.responses().size() == 1);
  CHECK(drips.responses()[0].status == 408);
  CHECK(s.server.stats().count(http::refusal::body_late) == 2);
  peer& fast_enough = s.start(head);
  for (int i = 0; i < 20; ++i) s.both(fast_enough, std::string(500, 'x'), 1s);
  s.listen_to(fast_enough, 1s);
  CHECK(fast_enough.responses().at(0).body == "10000");
}

TEST_CASE("http limits: a peer that takes nothing of a response is cut, a slow one is served") {
  const std::string large(1'000'000, 'l');
  site s([&](http::request&, http::response& r) { r.send(large); }, {.send_timeout = 30s});
  peer& never = s.start(get("/"), 40s);
  CHECK(s.server.stats().connections == 0);
  s.listen_to(never, 1s);
  CHECK(never.done);
  CHECK(never.received.size() < large.size());
  peer& slow = s.start(last_get("/"));
  read_slowly(s, slow);
  REQUIRE(slow.responses().size() == 1);
  CHECK(slow.responses()[0].body.size() == large.size());
}

TEST_CASE("http limits: a peer that takes a file slowly is served, too") {
  const std::string large(1'000'000, 'f');
  site s(
      [](http::request& q, http::response& r) -> task<> {
        beck::random_access_file file(q.get_executor());
        file.open("file", beck::file_object::read_only);
        beck::ignore(co_await r.async_send_file(file, 0, beck::to_the_end));
      },
      {.send_timeout = 30s});
  {
    beck::random_access_file file(s.web, "file",
                                  beck::file_object::write_only | beck::file_object::create);
    REQUIRE(file.write_some_at(0, beck::buffer(large)) == large.size());
  }
  peer& slow = s.start(last_get("/"));
  read_slowly(s, slow);
  REQUIRE(slow.responses().size() == 1);
  CHECK((slow.responses()[0].body == large));
}

TEST_CASE(
    "http limits: after a refusal the server reads on for a while, so that no response is lost") {
  site s(say_path, {.linger_timeout = 2s, .linger_bytes = 1'000'000});
  peer& goes_on = s.start(std::string("BAD\r\n\r\n"), std::string(100'000, 'x'));
  CHECK(s.server.stats().connections == 1);
  s.listen_to(goes_on, 3s);
  REQUIRE(goes_on.responses().size() == 1);
  CHECK(goes_on.responses()[0].status == 400);
  CHECK(goes_on.end == beck::error::eof);
  CHECK(s.server.stats().connections == 0);
}

TEST_CASE(
    "http limits: a response that ends its connection is not lost to a client that sends on") {
  site s([](http::request&, http::response& r) { r.close().send("bye"); });
  peer& goes_on = s.start(get("/"), std::string(100'000, 'x'));
  CHECK(s.server.stats().connections == 1);
  s.listen_to(goes_on, 3s);
  REQUIRE(goes_on.responses().size() == 1);
  CHECK(goes_on.responses()[0].body == "bye");
  CHECK(goes_on.end == beck::error::eof);
}

TEST_CASE("http limits: a body that the client withholds is not waited for") {
  site s(say_path);
  peer& asks =
      s.start(std::string("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                          "Expect: 100-continue\r\n\r\n"));
  s.listen_to(asks, 1s);
  CHECK(asks.done);
  CHECK(asks.responses().at(0).body == "/x");
}

TEST_CASE("http: the field Date follows the clock") {
  site s(say_path);
  peer& one = s.start(get("/a"), 1s, get("/b"), 100ms);
  s.listen_to(one, 1s);
  const auto all = one.responses();
  REQUIRE(all.size() == 2);
  const auto date = [&](std::size_t i) {
    return all[i].fields.substr(all[i].fields.find("Date"), 37);
  };
  CHECK(date(0) != date(1));
}

TEST_CASE("http limits: an address has a limit of connections, which other addresses do not feel") {
  site s(say_path, {.per_address = 2});
  peer& first = s.start(get("/1"));
  peer& second = s.start(get("/2"));
  peer& third = s.start(get("/3"));
  s.listen_to(third, 1s);
  CHECK(third.done);
  CHECK(third.received.empty());
  CHECK(s.server.stats().turned_away == 1);
  CHECK(s.server.stats().accepted == 2);
  beck::io_context elsewhere(s.world.host("elsewhere"));
  peer other(elsewhere);
  other.socket.async_connect(site::server_at(), [](error_code) {});
  s.world.run_for(1ms);
  s.step(other, last_get("/other"));
  CHECK(s.server.stats().accepted == 3);
  s.listen_to(first, 1s);
  CHECK(first.responses().at(0).body == "/1");
  first.socket.close();
  s.world.run_for(1s);
  peer& fourth = s.start(last_get("/4"));  // in the place of the first
  s.listen_to(fourth, 1s);
  CHECK(fourth.responses().at(0).body == "/4");
  CHECK(s.server.stats().turned_away == 1);
  CHECK(second.socket.is_open());
}

TEST_CASE("http limits: proxies that are named have no limit of connections, nor has 0") {
  site proxied(say_path, {.per_address = 1});
  proxied.server.behind_proxy("10.0.0.0/8");
  site none(say_path, {.per_address = 0});
  for (site* s : {&proxied, &none}) {
    s->start(get("/1"));
    s->start(get("/2"));
    s->start(get("/3"));
    CHECK(s->server.stats().accepted == 3);
    CHECK(s->server.stats().turned_away == 0);
  }
}

TEST_CASE("http limits: a further stop() makes the grace shorter, never longer") {
  const auto waits = [](http::request& q, http::response&) -> task<> {
    beck::steady_timer timer(q.get_executor(), 3600s);
    beck::ignore(co_await timer.async_wait());
  };
  site again(waits);
  again.start(get("/"));
  again.server.stop(10s);
  again.world.run_for(6s);
  again.server.stop(10s);
  again.world.run_for(3900ms);
  CHECK(again.server.stats().connections == 1);
  again.world.run_for(200ms);
  CHECK(again.server.stats().connections == 0);
  site sooner(waits);
  sooner.start(get("/"));
  sooner.server.stop(10s);
  sooner.world.run_for(1s);
  sooner.server.stop(1s);
  sooner.world.run_for(1100ms);
  CHECK(sooner.server.stats().connections == 0);
}

TEST_CASE("http limits: a request that crosses the stop is still answered") {
  site s(say_path);
  peer& one = s.start(get("/a"));
  s.server.stop();
  s.world.run_for(500ms);
  s.step(one, get("/b"));
  s.listen_to(one, 2s);
  REQUIRE(one.responses().size() == 2);
  CHECK(one.responses()[1].body == "/b");
  CHECK(one.end == beck::error::eof);
}

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Responses as the first letter of the path says: plainly, after a wait, with the number of bytes
/// of the body, as a stream, or with much.
task<> response_by_letter(http::request& q, http::response& r) {
  const std::string path(q.path());
  switch (path[1]) {
    case 'w': {
      beck::steady_timer timer(q.get_executor(), 3ms);
      beck::ignore(co_await timer.async_wait());
      r.send(path);
      break;
    }
    case 'b':
      co_await count_body(q, r);
      break;
    case 's':
      for (int i = 0; i < 5; ++i) {
        const std::string part = repeated(path, 400);
        auto [ec, n] = co_await beck::async_write(r, beck::buffer(part));
        if (ec) co_return;
        if (i % 2 == 0) beck::ignore(co_await r.async_flush());
      }
      break;
    case 'l':
      r.send(std::string(7'000, 'l'));
      break;
    default:
      r.send(path);
  }
}

/// A peer with a pipeline of requests, and the bodies that it expects.
struct pipeline {
  pipeline(beck::io_context& context, std::uint64_t seed, unsigned number)
      : one(context), leaves(seed % 5 == 0 && number == 0) {
    for (unsigned i = 0; i < 1 + seed % 7; ++i) {
      const char letter = "pwbsl"[(seed * 31 + number * 17 + i * 7) % 5];
      const std::string path = {'/', letter, static_cast<char>('0' + i)};
      if (letter == 'b') {
        text += "POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                "5\r\nhello\r\n3e8\r\n" + std::string(1000, 'x') + "\r\n0\r\n\r\n";
      } else {
        text += get(path);
      }
      expected.push_back(letter == 'b'   ? "1005"
                         : letter == 's' ? repeated(path, 2000)
                         : letter == 'l' ? std::string(7'000, 'l')
                                         : path);
    }
    breaks_off = seed % 3 == 0;
    if (breaks_off) text.resize(text.size() * (seed % 11) / 11);
  }

  task<> run() {
    auto connected = co_await one.socket.async_connect(site::server_at());
    if (connected.error()) co_return;
    beck::spawn(site::receive(one));
    auto sent = co_await beck::async_write(one.socket, beck::buffer(text));
    error_code ec;
    if (leaves) one.socket.close();
    if (!sent.error()) one.socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  }
  /// Returns the number of responses that arrived whole.
  std::size_t check() const {
    const auto all = one.responses();
    std::size_t whole = 0;
    REQUIRE(all.size() <= expected.size() + 1);
    if (!breaks_off && !leaves) REQUIRE(all.size() == expected.size());
    for (; whole < all.size() && all[whole].whole && all[whole].status == 200; ++whole) {
      REQUIRE(all[whole].body == expected[whole]);
    }
    return whole;
  }

  peer one;
  std::string text;
  std::vector<std::string> expected;
  bool leaves;
  bool breaks_off;
};

/// Returns the number of responses that arrived whole in one world.
std::size_t responses_in_world(std::uint64_t seed) {
  sim::world world(seed, sim::settings().buffer_sizes(1 + seed * 37 % 5000, 1 + seed * 91 % 5000));
  beck::io_context web(world.host("web")), far(world.host("far"));
  http::server server(response_by_letter);
  server.listen(80);
  bool ended = false;
  co_spawn(web, server.serve(), [&](std::exception_ptr) { ended = true; });
  std::deque<pipeline> peers;
  for (unsigned number = 0; number < 4; ++number) {
    pipeline& made = peers.emplace_back(far, seed, number);
    co_spawn(far, made.run(), beck::detached);
  }
  world.run_for(200s);
  std::size_t whole = 0;
  for (const pipeline& one : peers) whole += one.check();
  CHECK(server.stats().connections == 0);
  server.stop();
  world.run_for(30s);
  CHECK(ended);
  return whole;
}

}  // namespace

TEST_CASE("http worlds: every request is answered once and in order, or its connection is cut") {
  constexpr std::uint64_t worlds = 300;
  std::size_t whole = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    whole += responses_in_world(seed);
  }
  CHECK(whole > worlds * 8);
  beck::test::report_value("http.worlds", worlds);
}
