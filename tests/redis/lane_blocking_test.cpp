// SPDX-License-Identifier: BSL-1.0
// Blocking commands on lanes: nothing is sent behind them, they are silent for as long as they say,
// and one that is cancelled loses nothing.
#include "redis/client_site.hpp"
#include "redis/hand_server.hpp"

#include <beck/run/bind.hpp>
#include <beck/run/cancellation.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

using namespace beck::redis::test;

namespace {

using element = std::tuple<std::string, std::string>;
using popped = std::optional<element>;

/// A client_site with a lane, and the names of the commands that the server has executed.
struct lane_site : client_site {
  explicit lane_site(const redis::client_options& how = redis::client_options())
      : client_site(how) {
    run([](lane_site& s) -> task<> {
      auto taken = co_await s.db->lane();
      REQUIRE(taken);
      s.lane = std::move(taken).value();
    }(*this));
    server.on_command([this](const redis::arguments& c) {
      std::string name(c[0]);
      if (name == "CLIENT") name += " " + std::string(c[1]);
      names.push_back(name);
      if (seen) seen(name);
    });
  }
  ~lane_site() { lane = redis::lane(); }

  long count(std::string_view name) const {
    long sum = 0;
    for (const std::string& one : names) sum += one == name ? 1 : 0;
    return sum;
  }
  /// Starts a BLPOP without limit, and runs until the server has it.
  void block() {
    const long before = count("BLPOP");
    lane.exec<popped>("BLPOP", "q", 0)(
        bind_cancellation_slot(stop.slot(), [this](beck::error_code ec, redis::reply<popped> r) {
          CHECK(ec == r.error());
          got = std::move(r);
          is_over = true;
        }));
    REQUIRE(run_until([&] { return count("BLPOP") == before + 1; }));
  }
  /// Returns the time of the context.
  beck::time_point now() {
    beck::time_point at;
    run([](beck::time_point& to) -> task<> {
      to = beck::steady_now();
      co_return;
    }(at));
    return at;
  }
  void wait_for_end() {
    REQUIRE(run_until([this] { return is_over; }));
    is_over = false;
  }

  redis::lane lane;
  std::vector<std::string> names;
  std::function<void(const std::string&)> seen;
  beck::cancellation_signal stop;
  redis::reply<popped> got;
  bool is_over = false;
};

task<> push(redis::client& db, std::string value) {
  const auto r = co_await db.exec<long>("RPUSH", "q", value);
  CHECK(r);
}

}  // namespace

CONFORMANCE("redis lane: a blocking command waits for another caller") {
  lane_site s;
  s.block();
  s.run(push(*s.db, "a"));
  s.wait_for_end();
  REQUIRE(s.got);
  CHECK(std::get<1>(**s.got) == "a");
  CHECK(s.got.outcome() == outcome::executed);
  s.run([](redis::lane& lane) -> task<> {
    const auto late = co_await lane.exec<popped>("BLPOP", "q", 0.01);
    CHECK(late);
    CHECK(*late == std::nullopt);
  }(s.lane));
}

CONFORMANCE("redis lane: nothing is sent behind a blocking command before its answer") {
  lane_site s;
  s.block();
  bool done = false;
  s.lane.exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>& r) {
    CHECK(ec == s.got.error());
    CHECK(r.outcome() == outcome::not_sent);
    done = true;
  });
  s.run([](redis::client& db) -> task<> {  // a write of the lane would have come by then
    const auto n = co_await db.exec<std::optional<long>>("GET", "n");
    CHECK(*n == std::nullopt);
  }(*s.db));
  s.server.cut();
  s.wait_for_end();
  CHECK(s.got.outcome() == outcome::maybe_executed);
  REQUIRE(s.run_until([&] { return done; }));
}

CONFORMANCE("redis lane: a blocking command that is cancelled ends, and nothing is lost") {
  lane_site s;
  for (int i = 0; i < 3; ++i) {
    s.block();
    s.stop.emit(beck::cancellation_type::terminal);
    CHECK(!s.is_over);  // the answer decides
    s.wait_for_end();
    CHECK(s.got.error() == beck::error::operation_aborted);
    CHECK(s.got.outcome() == outcome::executed);
    CHECK(s.count("CLIENT UNBLOCK") > i);
    s.run(push(*s.db, std::to_string(i)));
    s.run([](redis::lane& lane, int number) -> task<> {
      const auto next = co_await lane.exec<popped>("BLPOP", "q", 0);
      REQUIRE(next);
      CHECK(std::get<1>(**next) == std::to_string(number));
    }(s.lane, i));
  }
}

CONFORMANCE("redis lane: an element that was popped before the cancellation is delivered") {
  lane_site s;
  s.block();
  s.seen = [&](const std::string& name) {
    if (name == "RPUSH") s.stop.emit(beck::cancellation_type::terminal);  // its reply is on its way
  };
  s.run(push(*s.db, "a"));
  s.wait_for_end();
  REQUIRE(s.got);
  CHECK(std::get<1>(**s.got) == "a");
  // A late request to unblock would end this one.
  s.block();
  s.run(push(*s.db, "b"));
  s.wait_for_end();
  REQUIRE(s.got);
  CHECK(std::get<1>(**s.got) == "b");
}

CONFORMANCE("redis lane: a limit of time ends a blocking command with timeout") {
  lane_site s;
  s.run([](redis::client& db, redis::lane& lane) -> task<> {
    const auto late = co_await beck::timeout(lane.exec<popped>("BLPOP", "q", 0), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.outcome() == outcome::executed);
    const auto both = co_await beck::timeout(
        lane.exec(cmd<popped>("BLPOP", "q", 0), cmd<long>("INCR", "n")), 1ms);
    CHECK(both.error() == beck::error::timeout);
    CHECK(std::get<0>(*both).outcome() == outcome::executed);
    CHECK(std::get<1>(*both).outcome() == outcome::not_sent);
    CHECK(both.outcome() == outcome::not_sent);
    co_await push(db, "a");
    const auto next = co_await lane.exec<popped>("BLPOP", "q", 0);
    REQUIRE(next);
    CHECK(std::get<1>(**next) == "a");
  }(*s.db, s.lane));
  CHECK(!s.server.exists("n"));
}

CONFORMANCE("redis lane: a call that was not sent yet is cancelled without CLIENT UNBLOCK") {
  lane_site s;
  s.block();
  beck::cancellation_signal stop;
  bool done = false;
  s.lane.exec<popped>("BLPOP", "q", 0)(
      bind_cancellation_slot(stop.slot(), [&](beck::error_code ec, const redis::reply<popped>& r) {
        CHECK(ec == beck::error::operation_aborted);
        CHECK(r.outcome() == outcome::not_sent);
        done = true;
      }));
  stop.emit(beck::cancellation_type::terminal);
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(!s.is_over);
  s.run(push(*s.db, "a"));
  s.wait_for_end();
  CHECK(std::get<1>(**s.got) == "a");
  CHECK(s.count("CLIENT UNBLOCK") == 0);
}

CONFORMANCE_ON(beck::test::sim, "redis lane: without an answer to CLIENT UNBLOCK the lane closes") {
  lane_site s;
  s.block();
  s.server.pause();
  const beck::time_point begin = s.now();
  s.stop.emit(beck::cancellation_type::terminal);
  s.wait_for_end();
  CHECK(s.got.error() == beck::error::operation_aborted);
  CHECK(s.got.outcome() == outcome::maybe_executed);
  CHECK(s.now() - begin >= 1s);
  CHECK(s.now() - begin < 1100ms);
  s.server.resume();
  s.run([](redis::lane& lane) -> task<> {
    const auto later = co_await lane.exec<long>("INCR", "n");
    CHECK(later.error() == beck::error::operation_aborted);
    CHECK(later.outcome() == outcome::not_sent);
  }(s.lane));
}

CONFORMANCE("redis lane: where CLIENT UNBLOCK is refused, a cancellation closes the lane") {
  lane_site s;
  s.server.fail_next("CLIENT|UNBLOCK", "NOPERM this user has no permissions");
  s.block();
  s.stop.emit(beck::cancellation_type::terminal);
  s.wait_for_end();
  CHECK(s.got.error() == beck::error::operation_aborted);
  CHECK(s.got.outcome() == outcome::maybe_executed);
}

CONFORMANCE_ON(beck::test::sim, "redis lane: a blocking command makes no PING, and no silence") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.block();
  s.names.clear();
  s.wait(1h);
  CHECK(!s.is_over);
  CHECK(s.count("PING") == 0);  // the client has no connection
  s.run(push(*s.db, "a"));
  s.wait_for_end();
  CHECK(std::get<1>(**s.got) == "a");
  s.db->close();
}

CONFORMANCE_ON(beck::test::sim, "redis lane: silence counts from the end of a limited wait") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.server.pause();
  beck::error_code end;
  const beck::time_point begin = s.now();
  s.lane.exec<popped>("BLPOP", "q", 60)([&](beck::error_code ec, const redis::reply<popped>& r) {
    CHECK(r.outcome() == outcome::maybe_executed);
    end = ec;
  });
  REQUIRE(s.run_until([&] { return !!end; }));
  CHECK(end == redis::error::server_silent);
  CHECK(s.now() - begin >= 70s);
  CHECK(s.now() - begin < 73s);
}

CONFORMANCE_ON(beck::test::sim, "redis lane: silence is found again behind a blocking command") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.block();
  s.wait(1min);
  s.run(push(*s.db, "a"));
  s.wait_for_end();
  s.server.pause();
  const beck::time_point begin = s.now();
  beck::error_code end;
  s.lane.exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>&) { end = ec; });
  REQUIRE(s.run_until([&] { return !!end; }));
  CHECK(end == redis::error::server_silent);
  CHECK(s.now() - begin < 11s);
}

CONFORMANCE_ON(beck::test::sim,
               "redis lane: a server that must be silent is not taken for a dead one") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.run([](lane_site& site) -> task<> {
    const auto off = co_await site.lane.exec<void>("CLIENT", "REPLY", "OFF");
    CHECK(off);
    beck::steady_timer timer(site.ctx, 1min);
    beck::ignore(co_await timer.async_wait());
    const auto n = co_await site.lane.exec<void>("INCR", "n");
    CHECK(n);
    const auto on = co_await site.lane.exec<void>("CLIENT", "REPLY", "ON");
    CHECK(on);
    const auto now = co_await site.lane.exec<long>("INCR", "n");
    CHECK(*now == 2);
  }(s));
}

CONFORMANCE_ON(beck::test::sim,
               "redis lane: a reply that is due before the silence is waited for") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.server.pause();
  const beck::time_point begin = s.now();
  beck::error_code end;
  s.lane.exec(cmd<std::optional<long>>("GET", "n"), cmd<void>("CLIENT", "REPLY", "OFF"))(
      [&](beck::error_code ec, const auto&) { end = ec; });
  REQUIRE(s.run_until([&] { return !!end; }));
  CHECK(end == redis::error::server_silent);
  CHECK(s.now() - begin < 13s);
}

CONFORMANCE_ON(beck::test::sim, "redis lane: CLIENT REPLY SKIP is not used up by a PING") {
  lane_site s({.ping_interval = 2s, .silence_timeout = 10s});
  s.run([](lane_site& site) -> task<> {
    const auto skip = co_await site.lane.exec<void>("CLIENT", "REPLY", "SKIP");
    CHECK(skip);
    beck::steady_timer timer(site.ctx, 1min);
    beck::ignore(co_await timer.async_wait());
    const auto n = co_await site.lane.exec<std::optional<long>>("INCR", "n");
    CHECK(n.outcome() == outcome::maybe_executed);
    const auto next = co_await site.lane.exec<long>("INCR", "n");
    CHECK(*next == 2);
  }(s));
}

CONFORMANCE_ON(beck::test::sim,
               "redis lane: one that CLIENT UNBLOCK may still meet is closed, not reset") {
  beck::io_context ctx(context_options());
  hand_server* peer = nullptr;
  int resets = 0;
  hand_server server(ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (c[0] == "GET") to.null();
    if (c[0] == "RESET") ++resets;
    if (c[0] != "CLIENT") return;
    if (c[1] == "ID") to.integer(7);
    if (c[1] == "UNBLOCK") peer->send("*2\r\n+q\r\n+a\r\n");  // on the lane, and no answer
  });
  peer = &server;
  redis::client db(ctx, server.url());
  bool is_over = false;
  const auto work = [&]() -> task<> {
    const auto first = co_await db.exec<std::optional<long>>("GET", "k");
    CHECK(first);
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto got = co_await beck::timeout(lane->exec<popped>("BLPOP", "q", 0), 1ms);
    CHECK(got.outcome() == outcome::executed);
    is_over = true;
  };
  co_spawn(ctx, work, beck::detached);
  ctx.run_for(500ms);
  CHECK(is_over);
  CHECK(resets == 0);
}
