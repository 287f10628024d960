// SPDX-License-Identifier: BSL-1.0
// A client of six redis-servers: slots move while pipelines run, a replica takes over, a primary is
// killed. The counters agree with the outcomes.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "redis/caller_gate.hpp"
#include "redis/real_cluster.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;

namespace {

constexpr int callers = 4;
constexpr int keys = 24;

std::string name_of(int key) { return "key" + std::to_string(key); }

/// Returns the node that has the key at first.
int home_of(int key) {
  return redis::key_slot(name_of(key)) * real_cluster::primaries / redis::key_slots;
}

/// Callers that increment all keys, again and again.
struct traffic {
  explicit traffic(real_cluster& on, const redis::cluster_options& how = redis::cluster_options())
      : site(on), many(on.ctx, on.url(0) + "," + on.url(1).substr(8), how) {
    for (int i = 0; i < callers; ++i) beck::co_spawn(site.ctx, call(*this, i), beck::detached);
  }
  ~traffic() {
    gate.end();
    CHECK(site.run_until([&] { return ended == callers; }));
    many.close();
    CHECK(site.run_until([&] { return many.stats().calls == 0; }));
  }

  /// Lets no further call begin, and waits for those under way.
  bool stop() {
    gate.close();
    return site.run_until([&] { return gate.waiting() == callers; });
  }
  /// Waits until so many further commands were answered.
  bool wait_for(long commands) {
    const long wanted = answered + commands;
    return site.run_until([&] { return answered >= wanted; });
  }
  /// Compares the counters with the outcomes.
  void check() {
    REQUIRE(stop());
    for (int key = 0; key < keys; ++key) {
      long n = -1;
      many.exec<std::optional<long>>("GET", name_of(key))(
          [&](beck::error_code ec, const redis::reply<std::optional<long>>& r) {
            n = ec ? -2 : (*r).value_or(0);
          });
      REQUIRE(site.run_until([&] { return n != -1; }));
      CAPTURE(key);
      CHECK(n >= executed[key]);
      CHECK(n <= executed[key] + maybe[key]);
    }
    CHECK(faults.empty());
  }

  static task<> call(traffic& t, int number) {
    for (int round = 0;; ++round) {
      const bool goes_on = co_await t.gate.pass();
      if (!goes_on) break;
      redis::request q;
      for (int key = 0; key < keys; ++key) q.push("INCR", name_of(key));
      const std::string token = std::to_string(number) + "-" + std::to_string(round);
      q.push("ECHO", token);
      const auto each = co_await t.many.exec_each<redis::value>(q);
      for (int key = 0; key < keys; ++key) t.note(key, (*each)[static_cast<std::size_t>(key)]);
      const redis::reply<redis::value>& echo = (*each)[keys];
      if (echo && (*echo).root().text() != token) t.faults.insert("the reply of another call");
      beck::steady_timer timer(t.site.ctx, 1ms);  // the servers need the processors, too
      beck::ignore(co_await timer.async_wait());
    }
    ++t.ended;
  }
  void note(int key, const redis::reply<redis::value>& r) {
    if (r.outcome() == outcome::maybe_executed) ++maybe[key];
    if (r.error() && r.outcome() != outcome::executed) return;
    if (r.error()) {
      faults.insert(std::string(r.error_text()));
      return;
    }
    ++executed[key];
    ++answered;
    if (!seen[key].insert((*r).root().integer()).second) faults.insert("two equal results");
  }

  real_cluster& site;
  redis::cluster many;
  caller_gate gate;
  std::map<int, long> executed;
  std::map<int, long> maybe;
  std::map<int, std::set<std::int64_t>> seen;
  std::set<std::string> faults;
  long answered = 0;
  int ended = 0;
};

/// Moves the slot of a key from its home to another node, key by key, under traffic.
void reshard(traffic& t, int key, int to) {
  real_cluster& site = t.site;
  const int from = home_of(key);
  const std::string slot = std::to_string(redis::key_slot(name_of(key)));
  const std::string to_id = site.ask(to, "CLUSTER MYID");
  CHECK(site.ask(to, "CLUSTER SETSLOT " + slot + " IMPORTING " + site.ask(from, "CLUSTER MYID")) ==
        "OK");
  CHECK(site.ask(from, "CLUSTER SETSLOT " + slot + " MIGRATING " + to_id) == "OK");
  CHECK(t.wait_for(200));
  CHECK(site.ask(from, "MIGRATE 127.0.0.1 " + std::to_string(site.ports[site.index(to)]) + " " +
                           name_of(key) + " 0 5000") == "OK");
  CHECK(t.wait_for(200));
  CHECK(site.ask(to, "CLUSTER SETSLOT " + slot + " NODE " + to_id) == "OK");
  CHECK(site.ask(from, "CLUSTER SETSLOT " + slot + " NODE " + to_id) == "OK");
  CHECK(t.wait_for(200));
}

}  // namespace

TEST_CASE("redis cluster: slots of redis-servers move amid pipelines") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_cluster site;
  REQUIRE(site.is_ready);
  traffic t(site);
  REQUIRE(t.wait_for(1000));
  for (int key = 0; key < 6; ++key) reshard(t, key, (home_of(key) + 1) % 3);
  t.check();
  CHECK(t.many.stats().asked > 0);
  CHECK(t.many.stats().moved > 0);
  for (int key = 0; key < keys; ++key) CHECK(t.maybe[key] == 0);
  // Commands that are divided, and transactions.
  std::vector<std::optional<long>> values;
  t.many.exec<std::vector<std::optional<long>>>("MGET", name_of(0), name_of(1), name_of(2), "none")(
      [&](beck::error_code, redis::reply<std::vector<std::optional<long>>> r) {
        CHECK(!r.error());
        values = std::move(*r);
      });
  REQUIRE(site.run_until([&] { return !values.empty(); }));
  CHECK(values.size() == 4);
  CHECK(values[1] == t.executed[1]);
  CHECK(values[3] == std::nullopt);
  beck::error_code end = redis::error::err;
  t.many.transaction(cmd<long>("INCR", "{t}a"), cmd<long>("INCR", "{t}b"))(
      [&](beck::error_code ec, const auto&) { end = ec; });
  REQUIRE(site.run_until([&] { return !end; }));
}

TEST_CASE(
    "redis cluster: a replica of redis-server takes over amid pipelines, and for a killed one") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_cluster site;
  REQUIRE(site.is_ready);
  traffic t(site, {.connections = {.hold_timeout = 15s}});
  REQUIRE(t.wait_for(1000));
  CHECK(site.ask(3, "CLUSTER FAILOVER") == "OK");
  REQUIRE(site.run_until([&] { return site.is_primary(3); }));
  CHECK(t.wait_for(1000));
  t.check();
  // A primary replicates behind its answers, so what it has answered is at the replica first here.
  REQUIRE(site.run_until([&] { return site.has_caught_up(4, 1); }));
  t.gate.open();
  site.kill(1);
  CHECK(t.wait_for(1000));  // no call is answered before the replica has taken over
  CHECK(site.is_primary(4));
  t.check();
}
