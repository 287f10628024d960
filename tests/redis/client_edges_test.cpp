// SPDX-License-Identifier: BSL-1.0
// The client when handlers call it back in the middle of a loss, when a call is awaited again, when
// servers accept connections and end them, and with limits of unusual size.
#include "redis/client_site.hpp"

#include <beck/io/read_write.hpp>
#include <beck/redis/connector.hpp>

#include <chrono>
#include <new>
#include <optional>
#include <string>

#include "support/allocations.hpp"

using namespace beck::redis::test;

namespace {

task<> count_once(redis::client& db) {
  const auto r = co_await db.exec<long>("INCR", "n");
  CHECK(r);
}

/// Cannot connect, and counts how often.
class no_way final : public redis::connector {
 public:
  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor) override {
    ++attempts;
    beck::io_result<beck::owned_stream> none;
    none.error_ = beck::error::connection_refused;
    co_return none;
  }
  int attempts = 0;
};

/// Calls again as often as `calls` says, inside the handler of the call before.
void call_again(redis::client& db, int calls, int& ended) {
  db.exec<long>("INCR", "n")([&db, calls, &ended](beck::error_code ec, const redis::reply<long>&) {
    CHECK(ec);
    ++ended;
    if (calls > 1) call_again(db, calls - 1, ended);
  });
}

/// Uses a lane, and cancels a blocking command on it; the n-th allocation meanwhile fails, if
/// there is one.
task<> use_lane_short_of_memory(redis::client& db, int n, bool& has_failed) {
  std::optional<beck::test::allocation_fault> fault;
  fault.emplace(n);
  try {
    auto lane = co_await db.lane();
    if (lane) {
      auto popping = beck::timeout(lane->exec<std::optional<std::string>>("BLPOP", "q", 0), 1ms);
      beck::ignore(co_await std::move(popping));
    }
  } catch (const std::bad_alloc&) {  // an operation did not start
  }
  has_failed = fault->fired();
  fault.reset();
  co_await count_once(db);
  const auto lane = co_await db.lane();
  CHECK(lane);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "redis client: each allocation may fail: calls end, and later ones are executed") {
  NEEDS_ALLOCATION_FAULTS();
  bool has_failed = true;
  for (int n = 1; has_failed; ++n) {
    CAPTURE(n);
    client_site s({.lanes = 1});
    s.run(use_lane_short_of_memory(*s.db, n, has_failed));
  }
}

CONFORMANCE("redis client: limits that would let nothing through count as 1") {
  client_site s({.in_flight = 0, .attempts = 0, .lanes = 0});
  s.run([](redis::client& db) -> task<> {
    const auto both = co_await db.exec(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"));
    CHECK(both);
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto third = co_await lane->exec<long>("INCR", "n");
    CHECK(*third == 3);
  }(*s.db));
}

CONFORMANCE("redis client: a call that is awaited again has no client any more") {
  client_site s;
  const auto twice = [](auto call) -> task<> {
    const auto first = co_await call;
    CHECK(first);
    CHECK_FALSE(call.get_executor());
    call.cancel();
    const auto second = co_await call;
    CHECK(second.error() == beck::error::operation_aborted);
    CHECK(second.outcome() == outcome::not_sent);
  };
  redis::request several;
  several.push("INCR", "n").push("INCR", "n");
  s.run(twice(s.db->exec<long>("INCR", "n")));
  s.run(twice(s.db->exec(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"))));
  s.run(twice(s.db->transaction(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"))));
  s.run(twice(s.db->exec_each<long>(several)));
  CHECK(s.server.integer("n") == 7);
}

CONFORMANCE("redis client: a call of no command succeeds, also when it is awaited again") {
  client_site s;
  const auto twice = [](auto none) -> task<> {
    const auto first = co_await none;
    CHECK(first);
    const auto second = co_await none;
    CHECK(second);
  };
  s.run(twice(s.db->exec_each<long>(redis::request())));
}

CONFORMANCE("redis client: a call made when another one fails waits for an attempt of its own") {
  client_site s({}, {});
  no_way nowhere;
  s.db.emplace(s.ctx, "redis://host", redis::client_options{.fails_fast = true});
  s.db->connect_with(nowhere);
  int ended = 0;
  call_again(*s.db, 4, ended);
  REQUIRE(s.run_until([&] { return ended == 4; }));
  CHECK(nowhere.attempts == 4);
}

CONFORMANCE_ON(beck::test::sim, "redis client: `hold` counts from the loss of a connection") {
  client_site s({.hold_timeout = 50ms});
  s.run(count_once(*s.db));
  s.server.pause();
  beck::error_code end;
  bool done = false;
  beck::time_point ended_at;
  s.db->exec<std::string>("GET", "n")([&](beck::error_code ec, const redis::reply<std::string>&) {
    end = ec;
    done = true;
    ended_at = beck::steady_now();
  });
  REQUIRE(s.run_until([&] { return s.db->stats().in_flight == 1; }));
  beck::time_point lost_at;
  s.start([](client_site& site, beck::time_point& at) -> task<> {
    at = beck::steady_now();
    site.server.close();
    co_return;
  }(s, lost_at));
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(end == beck::error::connection_refused);
  CHECK(ended_at - lost_at < 60ms);
}

CONFORMANCE_ON(beck::test::sim, "redis client: a server that ends each greeting is left in peace") {
  client_site s;
  int greetings = 0;  // HELLO; between two of them PING, the greeting of RESP2
  s.server.on_command([&](const redis::arguments&) {
    ++greetings;
    s.server.cut();
  });
  s.run([](redis::client& db) -> task<> {
    const auto r = co_await db.exec<long>("INCR", "n");
    CHECK(r.error());
    CHECK(r.outcome() == outcome::not_sent);
  }(*s.db));
  CHECK(greetings > 3);
  CHECK(greetings < 40);  // in the 10 s of hold_timeout
}

CONFORMANCE_ON(beck::test::sim,
               "redis client: calls that follow failed ones do not connect faster") {
  client_site s;
  no_way nowhere;
  s.db.emplace(s.ctx, "redis://host", redis::client_options{.fails_fast = true});
  s.db->connect_with(nowhere);
  s.run([](redis::client& db) -> task<> {
    const beck::time_point begin = beck::steady_now();
    while (beck::steady_now() - begin < 60s) {
      const auto r = co_await db.exec<long>("INCR", "n");
      CHECK(r.error() == beck::error::connection_refused);
    }
  }(*s.db));
  CHECK(nowhere.attempts > 10);
  CHECK(nowhere.attempts < 100);
}

CONFORMANCE("redis client: limits without an end") {
  client_site s({.connect_timeout = beck::duration::max(),
                 .hold_timeout = beck::duration::max(),
                 .ping_interval = beck::duration::max(),
                 .silence_timeout = beck::duration::max()});
  s.run(count_once(*s.db));
  s.wait(beck::duration(250'000'000));
  s.run(count_once(*s.db));
  CHECK(s.db->stats().connections == 1);
  CHECK(s.db->stats().writes == 3);  // no PING
}

CONFORMANCE_ON(beck::test::sim, "redis client: a server that reads slowly is not silent") {
  client_site s;
  beck::ip::tcp::acceptor acceptor(s.ctx,
                                   beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0));
  const std::string url = "redis://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  s.db.emplace(
      s.ctx, url,
      redis::client_options{.ping_interval = 20ms, .silence_timeout = 100ms, .attempts = 1});
  constexpr std::size_t large = 16'000'000;
  s.start([](beck::ip::tcp::acceptor& from, std::size_t most) -> task<> {
    auto accepted = co_await from.async_accept();
    REQUIRE(!accepted.error());
    beck::ip::tcp::socket peer = std::move(accepted).value();
    std::string room(200'000, ' ');
    beck::ignore(co_await peer.async_read_some(beck::buffer(room)));
    beck::ignore(co_await beck::async_write(peer, beck::buffer("+OK\r\n", 5)));
    for (std::size_t read = 0; read < most;) {  // takes 80 turns of at least 5 ms
      beck::steady_timer timer(peer.get_executor(), 5ms);
      beck::ignore(co_await timer.async_wait());
      const auto got = co_await peer.async_read_some(beck::buffer(room));
      if (!got) co_return;
      read += *got;
    }
    beck::ignore(co_await beck::async_write(peer, beck::buffer("+OK\r\n", 5)));
  }(acceptor, large));
  s.run([](redis::client& db) -> task<> {
    const auto r = co_await db.exec<void>("SET", "k", std::string(large, 'x'));
    CHECK(r);
    db.close();
  }(*s.db));
}
