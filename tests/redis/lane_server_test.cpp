// SPDX-License-Identifier: BSL-1.0
// Lanes of a real redis-server: its state, its blocking commands, and its end in the middle of one.
#include <beck/redis/client.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "redis/real_server.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"

using namespace beck::redis::test;
using namespace std::chrono_literals;
using beck::task;
using beck::redis::cmd;
using beck::redis::outcome;
namespace redis = beck::redis;

namespace {

using popped = std::optional<std::tuple<std::string, std::string>>;

/// A server and a client of it.
struct server_site {
  explicit server_site(const redis::client_options& how = redis::client_options())
      : db(ctx, "unix://" + server.path(), how) {
    REQUIRE(server.is_connected());
  }
  /// Runs until the task has ended, within 10 s.
  void run(task<> work) {
    bool done = false;
    co_spawn(ctx, std::move(work), [&](std::exception_ptr failed) {
      CHECK(!failed);
      done = true;
    });
    run_until(done);
  }
  void run_until(const bool& done) {
    beck::steady_timer limit(ctx, 10s);
    bool is_late = false;
    limit.async_wait([&](const beck::error_code& ec) { is_late = !ec; });
    ctx.restart();
    while (!done && !is_late) ctx.run_one();
    limit.cancel();
    ctx.poll();
    REQUIRE(done);
  }
  /// Returns the number of clients that the server lists with these words.
  std::size_t listed(std::string_view words) {
    const std::string list = server.ask("CLIENT LIST\r\n", "\r\n");
    std::size_t sum = 0;
    for (std::size_t at = 0; (at = list.find(words, at)) != std::string::npos; ++at) ++sum;
    return sum;
  }
  /// Starts a BLPOP, and waits until the server has it.
  void block(redis::lane& lane, std::string seconds) {
    is_over = false;
    lane.exec<popped>("BLPOP", "q", seconds)([this](beck::error_code, redis::reply<popped> r) {
      got = std::move(r);
      is_over = true;
    });
    ctx.restart();
    for (int i = 0; i < 10'000 && listed("cmd=blpop") == 0; ++i) ctx.poll();
    REQUIRE(listed("cmd=blpop") == 1);
  }
  redis::lane take() {
    redis::lane lane;
    run([](redis::client& from, redis::lane& to) -> task<> {
      auto taken = co_await from.lane();
      REQUIRE(taken);
      to = std::move(taken).value();
    }(db, lane));
    return lane;
  }

  beck::io_context ctx{::context_options()};
  real_server server;
  redis::client db;
  redis::reply<popped> got;
  bool is_over = false;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "redis lane: a redis-server forgets the state of a lane") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s({.lanes = 1});
  s.run([](redis::client& db) -> task<> {
    std::int64_t id = 0;
    for (int i = 0; i < 3; ++i) {
      auto lane = co_await db.lane();
      REQUIRE(lane);
      if (id != 0) CHECK(lane->id() == id);
      id = lane->id();
      const auto clean = co_await lane->exec<std::string>("CLIENT", "INFO");
      CHECK(clean->find("name= ") != std::string::npos);
      CHECK(clean->find(" db=0 ") != std::string::npos);
      CHECK(clean->find(" flags=U ") != std::string::npos);
      // No queue; one without commands in Valkey, where the flag "x" says that MULTI was there.
      CHECK((clean->find(" multi=-1 ") != std::string::npos ||
             clean->find(" multi=0 ") != std::string::npos));
      const auto all =
          co_await lane->exec(cmd<void>("SELECT", 7), cmd<void>("CLIENT", "SETNAME", "mine"),
                              cmd<void>("WATCH", "n"), cmd<void>("CLIENT", "TRACKING", "ON"),
                              cmd<std::optional<std::string>>("GET", "n"), cmd<void>("READONLY"));
      CHECK(std::get<0>(*all));
      const auto other = co_await db.exec<long>("INCR", "n");
      CHECK(other);
    }
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto whole = co_await lane->transaction(cmd<long>("INCR", "n"));
    CHECK(*std::get<0>(*whole) == 4);
    const auto watched = co_await lane->exec<void>("WATCH", "n");
    CHECK(watched);
    const auto other = co_await db.exec<long>("INCR", "n");
    CHECK(other);
    const auto failed = co_await lane->transaction(cmd<long>("INCR", "n"));
    CHECK(failed.error() == redis::error::watch_failed);
  }(s.db));
}

CONFORMANCE_ON(beck::test::kernel, "redis lane: CLIENT REPLY of a redis-server") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto all = co_await lane->exec(
        cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<void>("NOTHING"), cmd<long>("INCR", "n"),
        cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<void>("CLIENT", "REPLY", "SKIP"),
        cmd<void>("INCR", "n"), cmd<long>("INCR", "n"), cmd<void>("CLIENT", "REPLY", "WRONG"),
        cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<void>("CLIENT", "REPLY", "ON"),
        cmd<void>("CLIENT", "REPLY", "OFF"), cmd<void>("INCR", "n"),
        cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<void>("CLIENT", "REPLY", "WRONG"),
        cmd<void>("CLIENT", "REPLY", "ON"), cmd<long>("INCR", "n"));
    CHECK(!all.error());
    CHECK(*std::get<2>(*all) == 1);
    CHECK(*std::get<6>(*all) == 3);
    CHECK(std::get<7>(*all).error() == redis::error::err);
    CHECK(std::get<9>(*all).outcome() == outcome::executed);
    CHECK(std::get<13>(*all).outcome() == outcome::maybe_executed);
    CHECK(*std::get<15>(*all) == 5);
  }(s.db));
}

CONFORMANCE_ON(beck::test::kernel,
               "redis lane: every blocking command of a redis-server is ended") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto group = co_await db.exec<void>("XGROUP", "CREATE", "x", "g", "$", "MKSTREAM");
    CHECK(group);
    const std::vector<std::vector<std::string>> commands = {
        {"BLPOP", "q", "0"},
        {"BRPOP", "q", "100"},
        {"BLMOVE", "q", "p", "LEFT", "RIGHT", "0"},
        {"BRPOPLPUSH", "q", "p", "0"},
        {"BLMPOP", "0", "1", "q", "LEFT"},
        {"BZPOPMIN", "z", "0"},
        {"BZMPOP", "0", "1", "z", "MIN"},
        {"XREAD", "BLOCK", "0", "STREAMS", "x", "$"},
        {"XREADGROUP", "GROUP", "g", "me", "BLOCK", "0", "STREAMS", "x", ">"},
        {"WAIT", "3", "0"}};
    for (const auto& words : commands) {
      CAPTURE(words[0]);
      redis::request q;
      q.push(words[0], redis::each(std::vector<std::string>(words.begin() + 1, words.end())));
      const auto late = co_await beck::timeout(lane->exec_each<redis::value>(q), 2ms);
      CHECK(late.error() == beck::error::timeout);
      CHECK(late.outcome() == outcome::executed);
      const auto next = co_await lane->exec<std::string>("ECHO", words[0]);
      CHECK(*next == words[0]);
    }
  }(s.db));
}

CONFORMANCE_ON(beck::test::kernel,
               "redis lane: elements of a redis-server are not lost by limits") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    long pushed = 0;
    long got = 0;
    for (int i = 0; i < 300; ++i) {
      const auto r = co_await db.exec<long>("RPUSH", "q", i);
      if (r) ++pushed;
      const auto limit = beck::duration(i % 7 * 40'000);
      const auto one = co_await beck::timeout(lane->exec<popped>("BLPOP", "q", 0), limit);
      const auto two = co_await beck::timeout(lane->exec<popped>("BLPOP", "q", 0), limit);
      CHECK(one.outcome() != outcome::maybe_executed);
      CHECK(two.outcome() != outcome::maybe_executed);
      got += one ? 1 : 0;
      got += two ? 1 : 0;
    }
    const auto left = co_await db.exec<long>("LLEN", "q");
    CHECK(pushed == 300);
    CHECK(got + *left == pushed);
  }(s.db));
}

CONFORMANCE_ON(beck::test::kernel, "redis lane: a redis-server that is killed ends a BLPOP") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  redis::lane lane = s.take();
  s.block(lane, "0");
  s.server.signal(SIGKILL);
  s.run_until(s.is_over);
  CHECK(s.got.error());
  CHECK(s.got.outcome() == outcome::maybe_executed);
  s.run([](redis::lane& late) -> task<> {
    const auto r = co_await late.exec<long>("INCR", "n");
    CHECK(r.error());
    CHECK(r.outcome() == outcome::not_sent);
  }(lane));
}

CONFORMANCE_ON(beck::test::kernel,
               "redis lane: CLIENT KILL ends a BLPOP, and the next lane works") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  redis::lane lane = s.take();
  s.block(lane, "0");
  CHECK(s.server.ask("CLIENT KILL ID " + std::to_string(lane.id()) + "\r\n", "\r\n") == ":1\r\n");
  s.run_until(s.is_over);
  CHECK(s.got.error() == beck::error::eof);
  CHECK(s.got.outcome() == outcome::maybe_executed);
  redis::lane next = s.take();
  CHECK(next.id() != lane.id());
}

CONFORMANCE_ON(beck::test::kernel,
               "redis lane: a redis-server that is stopped is found behind a limit") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s({.ping_interval = 20ms, .silence_timeout = 200ms});
  redis::lane lane = s.take();
  s.block(lane, "0.1");
  s.server.signal(SIGSTOP);
  s.run_until(s.is_over);
  s.server.signal(SIGCONT);
  CHECK(s.got.error() == redis::error::server_silent);
  CHECK(s.got.outcome() == outcome::maybe_executed);
}

CONFORMANCE_ON(beck::test::kernel, "redis lane: CLIENT PAUSE delays a BLPOP, and its end") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  server_site s;
  redis::lane lane = s.take();
  CHECK(s.server.ask("CLIENT PAUSE 100000 WRITE\r\n", "\r\n") == "+OK\r\n");
  s.block(lane, "0");
  lane.close();
  s.run_until(s.is_over);
  CHECK(s.got.error() == beck::error::operation_aborted);
  lane = s.take();
  s.run([](redis::lane& paused, bool is_7_0) -> task<> {
    // Redis 7.0 says that it has unblocked the command, and would execute it in the end. Newer
    // servers do unblock it.
    const auto late = co_await beck::timeout(paused.exec<popped>("BLPOP", "q", 0), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.outcome() == (is_7_0 ? outcome::maybe_executed : outcome::executed));
    const auto later = co_await paused.exec<long>("LLEN", "q");
    CHECK(later.error() == (is_7_0 ? beck::error::operation_aborted : beck::error_code()));
  }(lane, s.server.is_7_0()));
  CHECK(s.server.ask("CLIENT UNPAUSE\r\n", "\r\n") == "+OK\r\n");
  s.run([](redis::client& db) -> task<> {
    const auto n = co_await db.exec<long>("RPUSH", "q", "x");
    CHECK(*n == 1);
  }(s.db));
}
