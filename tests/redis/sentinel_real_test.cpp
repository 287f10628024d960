// SPDX-License-Identifier: BSL-1.0
// A client of redis-servers behind three sentinels: the primary is changed by hand, stopped, and
// killed. Replication is asynchronous, so answered increments may be lost with a primary; none is
// counted that was not sent, and none is lost that was replicated or answered by the new primary.
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>

#include <chrono>
#include <csignal>
#include <optional>
#include <ostream>
#include <set>
#include <string>

#include "redis/caller_gate.hpp"
#include "redis/real_sentinels.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;

namespace {

constexpr int callers = 4;

/// Callers that increment a key, again and again.
struct traffic {
  explicit traffic(real_sentinels& on) : site(on), db(on.ctx, on.url(), {.hold_timeout = 15s}) {
    for (int i = 0; i < callers; ++i) beck::co_spawn(site.ctx, call(*this), beck::detached);
  }
  ~traffic() {
    gate.end();
    CHECK(site.run_until([&] { return ended == callers; }));
    db.close();
    site.run_until([&] { return site.ctx.stats().outstanding == 0; });
  }

  /// Lets no further call begin, and waits for those under way.
  bool stop() {
    gate.close();
    return site.run_until([&] { return gate.waiting() == callers; });
  }
  /// Waits until so many further commands were answered.
  bool wait_for(long commands) {
    const long wanted = executed + commands;
    return site.run_until([&] { return executed >= wanted; });
  }
  long counter() {
    long n = -1;
    db.exec<std::optional<long>>(
        "GET", "n")([&](beck::error_code ec, const redis::reply<std::optional<long>>& r) {
      n = ec ? -2 : (*r).value_or(0);
    });
    REQUIRE(site.run_until([&] { return n != -1; }));
    return n;
  }
  /// Begins a part of the test: all that was answered is replicated. Returns the primary.
  int begin_part() {
    REQUIRE(stop());
    const int primary = site.primary();
    REQUIRE(primary >= 0);
    base = counter();
    executed = maybe = at_new = 0;
    REQUIRE(site.run_until([&] { return has_copies(primary); }));
    connections = db.stats().connections;
    gate.open();
    REQUIRE(wait_for(100));
    return primary;
  }
  /// Returns whether the replicas have what the primary has.
  bool has_copies(int primary) const {
    const std::string n = site.ask(primary, "GET n");
    for (int i = 0; i < real_sentinels::servers; ++i)
      if (i != primary && site.ask(i, "GET n") != n) return false;
    return true;
  }
  /// Waits until the client is at the new primary, and compares the counter with the outcomes.
  void end_part() {
    REQUIRE(site.run_until([&] { return db.stats().connections > connections; }));
    at_new = 0;
    REQUIRE(site.run_until([&] { return at_new >= 200; }));
    REQUIRE(stop());
    const long n = counter();
    CAPTURE(base);
    CHECK(n <= base + executed + maybe);
    CHECK(n >= base + at_new);
    CHECK(faults.empty());
  }

  static task<> call(traffic& t) {
    for (;;) {
      const bool goes_on = co_await t.gate.pass();
      if (!goes_on) break;
      const auto r = co_await t.db.exec<long>("INCR", "n");
      if (r.outcome() == outcome::maybe_executed) ++t.maybe;
      if (r) ++t.executed;
      if (r) ++t.at_new;
      if (r.outcome() == outcome::executed && !r) t.faults.insert(std::string(r.error_text()));
      beck::steady_timer timer(t.site.ctx, 1ms);  // the servers need the processors, too
      beck::ignore(co_await timer.async_wait());
    }
    ++t.ended;
  }

  real_sentinels& site;
  redis::client db;
  caller_gate gate;
  std::set<std::string> faults;
  long base = 0;  // that has a copy
  long executed = 0;
  long maybe = 0;
  long at_new = 0;
  std::uint64_t connections = 0;
  int ended = 0;
};

}  // namespace

TEST_CASE("redis sentinel: a client follows redis-servers that are exchanged, stopped and killed") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_sentinels site;
  REQUIRE(site.is_ready);
  traffic t(site);
  // By hand: the former primary goes on taking writes until a sentinel makes it a replica.
  const int first = t.begin_part();
  REQUIRE(site.run_until([&] {  // refused while the sentinel has not heard of a replica lately
    return site.ask(3, "SENTINEL FAILOVER mymaster") == "+OK\r\n";
  }));
  t.end_part();
  CHECK(site.primary() != first);
  REQUIRE(site.run_until([&] { return site.is_replica(first); }));
  // A process that is stopped comes back and believes that it is the primary.
  const int second = t.begin_part();
  site.signal(second, SIGSTOP);
  t.end_part();
  t.gate.open();
  const auto connections = t.db.stats().connections;
  site.signal(second, SIGCONT);
  CHECK(t.wait_for(300));
  CHECK(t.db.stats().connections == connections);  // it is not gone back to
  REQUIRE(site.run_until([&] { return site.is_replica(second); }));
  // A process that is killed.
  const int third = t.begin_part();
  CHECK(third != second);
  site.end(third);
  t.end_part();
  CHECK(site.primary() != third);
}
