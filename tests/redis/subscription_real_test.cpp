// SPDX-License-Identifier: BSL-1.0
// Subscriptions at a redis-server: its confirmations and refusals, pushes inside of replies, and
// the ways in which it ends a connection.
#include <doctest/doctest.h>

#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "redis/queued.hpp"
#include "redis/real_site.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;
using namespace std::chrono_literals;
using beck::task;
using beck::redis::cmd;
namespace redis = beck::redis;

namespace {

task<> add(redis::subscription& to, std::string name) {
  const auto on = co_await to.add(name);
  CHECK(on);
}

/// Returns the channels and payloads in the queue, and how it has ended.
std::string queued(redis::subscription& from) {
  return redis::test::queued(from, [](const redis::push_event& e) {
    return e.is_gap() ? "gap" : std::string(e.channel()) + "=" + std::string(e.payload());
  });
}

}  // namespace

#define NEEDS_SERVER() \
  if (!has_server()) SKIP_CASE("redis-server is not installed")

TEST_CASE("redis subscription: a redis-server confirms, delivers, and is left") {
  NEEDS_SERVER();
  real_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    const auto on =
        co_await sub.add("a", "b", redis::pattern("log.*"), redis::sharded("{a}x"), "a");
    CHECK(on);
    for (const char* const name : {"a", "log.1"}) {
      const auto sent = co_await db.exec<long>("PUBLISH", name, "1");
      CHECK(*sent == 1);
    }
    beck::ignore(co_await db.exec<long>("SPUBLISH", "{a}x", "2"));
    CHECK(queued(sub) == "a=1 log.1=1 {a}x=2 ");
    sub.remove("a", redis::pattern("log.*"), redis::sharded("{a}x"));
    for (const char* const name : {"a", "log.1"}) {
      const auto sent = co_await db.exec<long>("PUBLISH", name, "3");
      CHECK(*sent == 0);
    }
    const auto sent = co_await db.exec<long>("PUBLISH", "b", "4");
    CHECK(*sent == 1);
    CHECK(queued(sub) == "b=4 ");
  }(s.db));
}

TEST_CASE("redis subscription: a redis-server puts messages into replies, at any depth") {
  NEEDS_SERVER();
  real_site s;
  CHECK(s.ask("CONFIG SET notify-keyspace-events KEA") == "+OK\r\n");
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("c", redis::pattern("__keyevent@0__:*")));
    const auto all =
        co_await db.transaction(cmd<long>("PUBLISH", "c", "x"), cmd<void>("SET", "k", 1),
                                cmd<long>("LPUSH", "k", "x"), cmd<long>("INCR", "k"));
    CHECK(all);
    CHECK(*std::get<0>(*all) == 1);
    CHECK(std::get<2>(*all).error() == redis::error::wrongtype);
    CHECK(*std::get<3>(*all) == 2);
    CHECK(queued(sub) == "c=x __keyevent@0__:set=k __keyevent@0__:incrby=k ");
    int inside = 0;
    for (int i = 0; i < 40; ++i) {
      // Keys that expire while MGET runs are noted inside its reply. Which one finds them first,
      // MGET or the server's own search, is chance.
      redis::request q;
      for (int k = 0; k < 20; ++k) q.push("SET", "e" + std::to_string(k), k, "PX", 1);
      beck::ignore(co_await db.exec_each<void>(q));
      for (bool are_there = true; are_there;) {
        const auto both = co_await db.transaction(
            cmd<std::vector<std::optional<std::string>>>("MGET", "k", "e0", "k", "e19", "k"),
            cmd<std::string>("GET", "k"));
        CHECK(both);
        const auto& values = *std::get<0>(*both);
        CHECK(values.size() == 5);
        CHECK(values[2] == "2");
        are_there = values[1].has_value() || values[3].has_value();
      }
      std::string events = queued(sub);
      inside += events.find("expired=e19") != std::string::npos ? 1 : 0;
    }
    CHECK(inside > 0);
  }(s.db));
}

TEST_CASE("redis subscription: a redis-server refuses one channel of several") {
  NEEDS_SERVER();
  real_site s;
  CHECK(s.ask("ACL SETUSER app on >pw ~* +@all resetchannels &ok*") == "+OK\r\n");
  redis::client app(s.ctx, "unix://app:pw@" + s.real.path());
  redis::subscription sub(app);
  redis::subscription other(app);
  s.run([](redis::client& db, redis::subscription& to, redis::subscription& beside) -> task<> {
    const auto refused = co_await to.add("ok1", "bad", redis::pattern("*"), "ok2");
    CHECK(refused.error() == redis::error::noperm);
    const auto none = co_await db.exec<long>("PUBLISH", "ok1", "x");
    CHECK(*none == 0);
    co_await add(to, "ok1");
    co_await add(beside, "ok2");
    const auto one = co_await db.exec<long>("PUBLISH", "ok1", "x");
    CHECK(*one == 1);
    CHECK(queued(to) == "ok1=x ");
  }(app, sub, other));
  // The server ends the connection of a user that has lost a channel, and refuses it then.
  CHECK(s.ask("ACL SETUSER app resetchannels &ok2") == "+OK\r\n");
  REQUIRE(s.run_until([&] { return queued(sub) == "end"; }));
  CHECK(sub.try_next().error() == redis::error::noperm);
  REQUIRE(s.run_until([&] { return queued(other) == "gap "; }));
}

TEST_CASE("redis subscription: a redis-server cuts off subscribers, and is subscribed again") {
  NEEDS_SERVER();
  real_site s;
  redis::subscription sub(s.db, {.queue_bytes = 1 << 30});
  s.run(add(sub, "a"));
  for (int i = 0; i < 3; ++i) {
    CHECK(s.ask("CLIENT KILL TYPE pubsub") == ":1\r\n");
    REQUIRE(s.run_until([&] { return queued(sub) == "gap "; }));
    CHECK(s.ask("PUBLISH a x") == ":1\r\n");
    REQUIRE(s.run_until([&] { return queued(sub) == "a=x "; }));
  }
  // One that does not read has more to receive than the server keeps.
  CHECK(s.ask("CONFIG SET client-output-buffer-limit \"pubsub 1mb 0 0\"") == "+OK\r\n");
  const std::string line =
      "*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$100000\r\n" + std::string(100'000, 'x');
  for (int i = 0; i < 40; ++i) s.real.ask(line + "\r\n", "\r\n");
  std::string events;
  REQUIRE(s.run_until([&] { return (events += queued(sub)).ends_with("gap "); }));
  CHECK(s.ask("PUBLISH a x") == ":1\r\n");
  REQUIRE(s.run_until([&] { return queued(sub) == "a=x "; }));
}

TEST_CASE("redis subscription: a redis-server that is killed and started again") {
  NEEDS_SERVER();
  real_site s;
  redis::subscription sub(s.db);
  s.run(add(sub, "a"));
  for (int i = 0; i < 2; ++i) {
    s.real.restart();
    REQUIRE(s.real.is_connected());
    REQUIRE(s.run_until([&] { return queued(sub) == "gap "; }));
    CHECK(s.ask("PUBLISH a x") == ":1\r\n");
    REQUIRE(s.run_until([&] { return queued(sub) == "a=x "; }));
  }
  CHECK(s.db.stats().connections == 3);
}
