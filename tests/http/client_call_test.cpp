// SPDX-License-Identifier: BSL-1.0
// The functions of a program around the calls of a client, and the limits of one call.
#include <beck/http/client.hpp>

#include <beck/coro/local_key.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "http/client_site.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using namespace std::chrono_literals;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;

namespace {

constinit const beck::local_key<std::string> user;

/// A copy of a record.
struct ended_call {
  std::string method, url;
  http::call_record record;
};

/// A scripted server on one machine of a world and a client on another.
struct call_world {
  explicit call_world(std::uint64_t seed = 1,
                      const http::client_options& how = http::client_options())
      : world(seed, sim::settings().calm()),
        web(world.host("web")),
        far(world.host("far")),
        server(web, ip::tcp::endpoint(ip::tcp::v4(), 80)),
        client(far, how) {
    client.on_finish([this](const http::call_record& one) {
      ended.push_back({std::string(one.method), std::string(one.url), one});
    });
    world.run_until_idle();
  }
  outcome& start(beck::http::detail::call_finish operation) {
    outcome& made = outcomes.emplace_back();
    co_spawn(far, collect(std::move(operation), made), beck::detached);
    return made;
  }
  outcome& get() { return start(client.async_get("http://10.0.0.1/")); }

  sim::world world;
  beck::io_context web, far;
  scripted_server server;
  http::client client;
  std::deque<outcome> outcomes;
  std::vector<ended_call> ended;
};

error_code error_of(const outcome& one) { return one.ec ? one.ec : one.body_ec; }

task<> get_as(http::client& web, std::string name, error_code& ec) {
  auto got = co_await user.with(std::move(name), web.async_get("http://10.0.0.1/"));
  ec = got.error();
}

}  // namespace

TEST_CASE("http client calls: functions prepare each call, and see what its caller sees") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    call_world w(seed);
    w.client.before_call([](http::call& c) { c.set("X-First", "1"); });
    w.client.before_call([&w](http::call& c) -> task<> {
      beck::steady_timer timer(w.far, 1s);  // it may wait, for a token for example
      beck::ignore(co_await timer.async_wait());
      const std::string* const name = co_await user.get();
      c.set("X-User", name != nullptr ? *name : "nobody");
    });
    error_code anna, ben;
    for (int i = 0; i < 3; ++i) w.server.will(ok("x"));
    co_spawn(w.far, get_as(w.client, "anna", anna), beck::detached);
    co_spawn(w.far, get_as(w.client, "ben", ben), beck::detached);
    outcome& plain = w.get();
    w.world.run_for(10s);
    CHECK(!anna);
    CHECK(!ben);
    CHECK(plain.body == "x");
    REQUIRE(w.server.requests.size() == 3);
    std::string heads;
    for (const asked& one : w.server.requests) {
      CHECK(contains(one.head, "\r\nX-First: 1\r\n"));
      heads += one.head;
    }
    for (const char* name : {"anna", "ben", "nobody"})
      CHECK(contains(heads, "\r\nX-User: " + std::string(name) + "\r\n"));
  }
}

TEST_CASE("http client calls: a function is called once, also for a stream, a retry, a redirect") {
  call_world w(1, {.redirects = 3});
  int calls = 0;
  w.client.before_call([&](http::call& c) { c.set("X-Call", std::to_string(++calls)); });
  w.server.will(ok("a"));
  w.get();
  w.world.run_for(1s);
  w.server.will("", after::end);  // the idle connection ends without a response: sent again
  w.server.will("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
  w.server.will(ok("b"));
  outcome& moved = w.get();
  w.world.run_for(1s);
  CHECK(moved.body == "b");
  CHECK(calls == 2);
  REQUIRE(w.server.requests.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) CHECK(contains(w.server.requests[i].head, "X-Call: 2\r\n"));
  w.server.will(ok("c"));
  std::string body;
  co_spawn(
      w.far,
      [](call_world& in, std::string& to) -> task<> {
        http::call ask(in.client, http::method::post, "http://10.0.0.1/");
        beck::ignore(co_await beck::async_write(ask, beck::buffer("part", 4)));
        beck::ignore(co_await beck::async_write(ask, beck::buffer("part", 4)));
        auto got = co_await ask.async_finish();
        to = got.error().message();
      }(w, body),
      beck::detached);
  w.world.run_for(1s);
  CHECK(calls == 3);
  REQUIRE(w.server.requests.size() == 5);
  CHECK(contains(w.server.requests[4].head, "X-Call: 3\r\n"));
  CHECK(w.server.requests[4].body == "partpart");
  REQUIRE(w.ended.size() == 3);
  CHECK(w.ended[1].record.attempts == 3);
  CHECK(w.ended[1].url == "http://10.0.0.1/b");
  CHECK(w.ended[2].method == "POST");
}

TEST_CASE("http client calls: an exception of a function ends the call before it connects") {
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    call_world w;
    w.client.before_call([kind](http::call& c) -> task<> {
      if (kind == 0) throw std::runtime_error("no token");
      if (kind == 1) throw std::system_error(make_error_code(std::errc::permission_denied));
      if (kind == 2) throw 5;
      beck::ignore(co_await c.async_finish());  // not its own
    });
    outcome& failed = w.get();
    w.world.run_for(1s);
    REQUIRE(failed.done);
    if (kind == 1) CHECK(failed.ec == std::errc::permission_denied);
    if (kind != 1) CHECK(failed.ec == http::client_error::before_call_failed);
    if (kind == 0) CHECK(contains(failed.failure, "no token"));
    CHECK(w.client.stats().made == 0);
    REQUIRE(w.ended.size() == 1);
    CHECK(w.ended[0].record.error == failed.ec);
    CHECK(w.ended[0].record.attempts == 0);
  }
}

TEST_CASE("http client calls: each call that ends has one record") {
  call_world w;
  w.server.will(ok("four"));
  w.get();
  w.world.run_for(1s);
  w.server.will("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  w.get();
  w.world.run_for(1s);
  w.server.will("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", after::end);
  outcome& half = w.get();
  w.world.run_for(1s);
  CHECK(error_of(half) == http::client_error::cut_short);
  w.start(w.client.async_get("ftp://x/"));
  { const http::call never(w.client, http::method::get, "http://10.0.0.1/"); }
  w.world.run_for(1s);
  REQUIRE(w.ended.size() == 4);
  for (const ended_call& one : w.ended) CHECK(one.method == "GET");
  CHECK(w.ended[0].record.status == 200);
  CHECK(w.ended[0].record.response_bytes == 4);
  CHECK(w.ended[0].record.attempts == 1);
  CHECK(!w.ended[0].record.error);
  CHECK(!w.ended[0].record.cut);
  CHECK(w.ended[0].record.first_byte > beck::duration::zero());
  CHECK(w.ended[0].record.time >= w.ended[0].record.first_byte);
  CHECK(w.ended[1].record.status == 404);
  CHECK(w.ended[2].record.error == http::client_error::cut_short);
  CHECK(w.ended[2].record.status == 200);
  CHECK(w.ended[3].record.error == http::client_error::bad_url);
  CHECK(w.ended[3].record.status == 0);
  CHECK(w.ended[3].record.first_byte == beck::duration::zero());
  // A response that is dropped with a part of its body.
  w.server.will("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  co_spawn(
      w.far,
      [](call_world& in) -> task<> {
        beck::ignore(co_await in.client.async_get("http://10.0.0.1/"));
      }(w),
      beck::detached);
  w.world.run_for(1s);
  REQUIRE(w.ended.size() == 5);
  CHECK(w.ended[4].record.cut);
  CHECK(!w.ended[4].record.error);
}

TEST_CASE("http client calls: the time of a call ends it wherever it waits") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    // No head; a body that pauses; a redirect whose second request is not answered.
    for (const int kind : {0, 1, 2, 3}) {
      CAPTURE(kind);
      call_world w(seed, {.redirects = 1});
      if (kind == 1) w.server.will("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
      if (kind == 2)
        w.server.will("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
      if (kind == 3) w.world.link(w.world.host("web"), w.world.host("far")).cut();
      http::call ask(w.client, http::method::get, "http://10.0.0.1/");
      outcome& late = w.start(ask.time(2s).async_finish());
      w.world.run_for(1900ms);
      CHECK(!late.done);
      w.world.run_for(200ms);
      REQUIRE(late.done);
      CHECK(error_of(late) == http::client_error::call_late);
      CHECK(error_of(late) == std::errc::timed_out);
      CHECK(w.client.stats().connections == 0);
      w.world.run_for(10s);
      REQUIRE(w.ended.size() == 1);
      CHECK(w.ended[0].record.error == http::client_error::call_late);
      CHECK(w.ended[0].record.time >= beck::duration::seconds(2));
    }
  }
}

TEST_CASE("http client calls: the time of a call includes its preparation and its writes") {
  {
    call_world w;
    w.client.before_call([&w](http::call&) -> task<> {
      beck::steady_timer timer(w.far, 1h);
      beck::ignore(co_await timer.async_wait());
    });
    http::call ask(w.client, http::method::get, "http://10.0.0.1/");
    outcome& late = w.start(ask.time(2s).async_finish());
    w.world.run_for(3s);
    REQUIRE(late.done);
    CHECK(error_of(late) == http::client_error::call_late);
  }
  {
    call_world w;
    w.client.before_call([](http::call& c) { c.time(1s); });
    outcome& late = w.get();
    w.world.run_for(2s);
    REQUIRE(late.done);
    CHECK(error_of(late) == http::client_error::call_late);
  }
  call_world w;
  w.server.will(ok("in time"));
  http::call ask(w.client, http::method::get, "http://10.0.0.1/");
  outcome& good = w.start(ask.time(2s).async_finish());
  w.world.run_for(10s);
  CHECK(good.body == "in time");
  CHECK(w.client.stats().idle == 1);  // the connection serves other calls
  w.server.will(ok("again"));
  outcome& next = w.get();
  w.world.run_for(10s);
  CHECK(next.body == "again");
  CHECK(w.client.stats().made == 1);
}

namespace {

task<> write_as(http::client& web, std::string name, error_code& ec) {
  http::call ask(web, http::method::post, "http://10.0.0.1/");
  auto first = co_await user.with(std::move(name), ask.async_write_some(beck::buffer("a", 1)));
  ec = first.error();
  if (!ec) {
    auto got = co_await ask.async_finish();
    ec = got.error();
  }
}

task<> write_for_a_second(http::call& to, error_code& ec) {
  auto sent = co_await beck::timeout(to.async_write_some(beck::buffer("a", 1)), 1s);
  ec = sent.error();
}

/// Writes until that fails.
task<> write_without_end(http::call& to, error_code& ec) {
  const std::string many(100'000, 'x');
  while (!ec) {
    auto sent = co_await beck::async_write(to, beck::buffer(many));
    ec = sent.error();
  }
}

}  // namespace

TEST_CASE("http client calls: the first write of a stream prepares its call, for its own caller") {
  call_world w;
  w.client.before_call([](http::call& c) -> task<> {
    const std::string* const name = co_await user.get();
    c.set("X-User", name != nullptr ? *name : "nobody");
  });
  w.server.will(ok("x"));
  error_code ec;
  co_spawn(w.far, write_as(w.client, "anna", ec), beck::detached);
  w.world.run_for(5s);
  CHECK(!ec);
  REQUIRE(w.server.requests.size() == 1);
  CHECK(contains(w.server.requests[0].head, "\r\nX-User: anna\r\n"));
  CHECK(w.server.requests[0].body == "a");
}

TEST_CASE("http client calls: the time of a call ends a write that waits, and one for 100") {
  call_world w;
  ip::tcp::acceptor deaf(w.web, ip::tcp::endpoint(ip::tcp::v4(), 81));  // never reads
  http::call stream(w.client, http::method::post, "http://10.0.0.1:81/");
  stream.time(2s);
  error_code ec;
  co_spawn(w.far, write_without_end(stream, ec), beck::detached);
  w.world.run_for(1900ms);
  CHECK(!ec);
  w.world.run_for(200ms);
  CHECK(ec == http::client_error::call_late);
  CHECK(w.client.stats().connections == 0);
  CHECK(w.ended.size() == 1);
  outcome& after = w.start(stream.async_finish());
  w.world.run_for(1s);
  CHECK(after.ec == http::client_error::call_late);
  http::call asks(w.client, http::method::post, "http://10.0.0.1:81/");
  asks.expect_continue().time(200ms);
  outcome& late = w.start(asks.async_finish(beck::buffer("body", 4)));
  w.world.run_for(300ms);
  CHECK(late.ec == http::client_error::call_late);
  http::call written(w.client, http::method::post, "http://10.0.0.1:81/");
  written.expect_continue().time(200ms);
  error_code waited;
  co_spawn(w.far, write_without_end(written, waited), beck::detached);
  w.world.run_for(300ms);
  CHECK(waited == http::client_error::call_late);
}

TEST_CASE("http client calls: the body of a response has the limit of its call") {
  call_world w(1, {.bodies = {.body_bytes = 6}});
  const auto ask = [&](std::uint64_t limit) -> outcome& {
    http::call made(w.client, http::method::get, "http://10.0.0.1/");
    outcome& got = w.start(made.body_limit(limit).async_finish());
    w.world.run_for(1s);
    return got;
  };
  w.server.will(ok("12345"));
  CHECK(ask(5).body == "12345");
  w.server.will(ok("123456"));
  CHECK(error_of(ask(5)) == http::refusal::body_too_long);
  w.server.will("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n0\r\n\r\n");
  CHECK(error_of(ask(5)) == http::refusal::body_too_long);
  w.server.will(ok("1234567"));
  CHECK(ask(7).body == "1234567");  // also above that of the client
  w.server.will(ok("1234567"));
  outcome& own = w.get();
  w.world.run_for(1s);
  CHECK(error_of(own) == http::refusal::body_too_long);
}

TEST_CASE("http client calls: a write that is cancelled in the preparation sends nothing later") {
  call_world w;
  w.client.before_call([&w](http::call& c) -> task<> {
    beck::steady_timer timer(w.far, 1h);
    beck::ignore(co_await timer.async_wait());
    c.set("Authorization", "Bearer x");
  });
  http::call stream(w.client, http::method::post, "http://10.0.0.1/");
  error_code ec;
  co_spawn(w.far, write_for_a_second(stream, ec), beck::detached);
  w.world.run_for(2s);
  CHECK(ec);
  outcome& after = w.start(stream.async_finish());
  w.world.run_for(5s);
  CHECK(after.ec == error::operation_aborted);
  CHECK(w.server.requests.empty());
}
