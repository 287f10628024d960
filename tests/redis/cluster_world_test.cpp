// SPDX-License-Identifier: BSL-1.0
// Clients of a cluster in simulated worlds: slots move, key by key or at once, nodes die, stop and
// lose their connections, while calls are under way. Each call ends once, no reply reaches another
// call, and the counters agree with the outcomes.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/check.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/cluster_nodes.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

constexpr int callers = 3;
constexpr int calls_each = 5;
constexpr int primaries = 3;
constexpr int all_nodes = 4;  // the last one is a replica of the first
constexpr const char* names[] = {"{a}1", "{a}2", "b", "{c}1", "{c}2", "d"};

/// The outcomes of the increments of a key.
struct tally {
  long executed = 0;  // that were answered
  long maybe = 0;     // that may have run
  std::set<long> seen;
};

/// The number of increments that calls which are retryable may have made.
struct range {
  long least = 0;
  long most = 0;
};

struct record {
  std::map<std::string, tally> of;
  std::map<std::string, range> retried;  // a key for each call
  long attempts = 0;                     // the limit of connections
  int ended = 0;
  redis::cluster_stats stats;
};

/// Returns whether a server that answers so has not run the command.
bool is_redirect(beck::error_code ec) {
  using redis::error;
  return ec == error::moved || ec == error::ask || ec == error::tryagain ||
         ec == error::clusterdown || ec == error::exec_abort || ec == error::loading;
}

void note(record& sum, const std::string& key, const redis::reply<long>& r) {
  tally& of = sum.of[key];
  if (r.outcome() == outcome::maybe_executed) ++of.maybe;
  if (r.outcome() != outcome::executed) return;
  if (!r) return sim::require(is_redirect(r.error()), "an increment was refused");
  ++of.executed;
  sim::require(of.seen.insert(*r).second, "two increments of a key have one result");
}

std::string any_name(sim::world& world) { return names[world.random().below(std::size(names))]; }

beck::duration below(sim::world& world, std::uint64_t ns) {
  return beck::duration(static_cast<long long>(world.random().below(ns)));
}

task<> pipeline(redis::cluster& many, sim::world& world, record& sum, std::string token) {
  const std::string a = any_name(world);
  const std::string b = any_name(world);
  auto all = co_await many.exec(cmd<long>("INCR", a), cmd<std::string>("ECHO", token),
                                cmd<long>("INCR", b), cmd<long>("INCR", a));
  note(sum, a, std::get<0>(*all));
  note(sum, b, std::get<2>(*all));
  note(sum, a, std::get<3>(*all));
  const redis::reply<std::string>& echo = std::get<1>(*all);
  if (echo) sim::require(*echo == token, "a call got the reply of another one");
  outcome first = std::get<0>(*all).outcome();
  if (first == outcome::executed) first = echo.outcome();
  if (first == outcome::executed) first = std::get<2>(*all).outcome();
  if (first == outcome::executed) first = std::get<3>(*all).outcome();
  sim::require(all.outcome() == first, "the outcome of the whole is wrong");
}

task<> many_increments(redis::cluster& many, sim::world& world, record& sum) {
  redis::request q;
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < 2 + world.random().below(10); ++i) {
    keys.push_back(any_name(world));
    q.push("INCR", keys.back());
  }
  const auto each = co_await many.exec_each<long>(q);
  std::map<std::string, long> last;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const redis::reply<long>& r = (*each)[i];
    note(sum, keys[i], r);
    if (!r) continue;
    sim::require(*r > last[keys[i]], "two commands of one key have changed places");
    last[keys[i]] = *r;
  }
}

task<> read_all(redis::cluster& many, record& sum) {
  std::map<std::string, long> least;
  for (const char* const name : names) least[name] = sum.of[name].executed;
  const auto r = co_await many.exec<std::vector<std::optional<long>>>(
      "MGET", names[0], names[1], names[2], names[3], names[4], names[5]);
  if (!r) co_return;
  sim::require(r->size() == std::size(names), "a divided command has another number of values");
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const tally& of = sum.of[names[i]];
    const long got = (*r)[i].value_or(0);
    sim::require(got >= least[names[i]], "a read does not see a write before it");
    const long most = of.executed + of.maybe + callers * 12;  // those under way
    sim::require(got <= most, "a read sees a value of another key");
  }
}

void note(range& of, long attempts, const redis::reply<long>& r) {
  if (r.outcome() == outcome::not_sent) return;
  if (r) ++of.least;
  if (r || r.outcome() == outcome::maybe_executed) of.most += attempts;
  if (!r && r.outcome() == outcome::executed)
    sim::require(is_redirect(r.error()), "an increment was refused");
}

/// Increments a key of its own twice, each time as often as the call is lost.
task<> retried(redis::cluster& many, sim::world& world, record& sum, std::string token) {
  const std::string name = any_name(world);
  const std::string key = "{" + name.substr(name[0] == '{' ? 1 : 0, 1) + "}" + token;
  redis::reply<long> first;
  redis::reply<long> second;
  if (world.random().chance(0.3)) {
    auto call = many.transaction(cmd<long>("INCR", key), cmd<long>("INCR", key)).retryable();
    auto both = co_await std::move(call);
    std::tie(first, second) = std::move(*both);
  } else {
    auto call = many.exec(cmd<long>("INCR", key), cmd<long>("INCR", key)).retryable();
    auto both = co_await std::move(call);
    std::tie(first, second) = std::move(*both);
  }
  if (first && second) sim::require(*first < *second, "two retryable commands changed places");
  range& of = sum.retried[key];
  note(of, sum.attempts, first);
  note(of, sum.attempts, second);
}

task<> one_call(redis::cluster& many, sim::world& world, record& sum, std::string token) {
  const auto choice = world.random().below(7);
  const std::string key = any_name(world);
  if (choice == 0) {
    co_await pipeline(many, world, sum, token);
  } else if (choice == 1) {
    co_await many_increments(many, world, sum);
  } else if (choice == 2) {
    co_await read_all(many, sum);
  } else if (choice == 3) {
    const auto r = co_await beck::timeout(many.exec<long>("INCR", key), below(world, 3'000'000));
    note(sum, key, r);
  } else if (choice == 4) {
    const auto both = co_await many.transaction(
        cmd<long>("INCR", "{a}1"), cmd<long>("INCR", "{a}2"), cmd<long>("INCR", "{a}1"));
    note(sum, "{a}1", std::get<0>(*both));
    note(sum, "{a}2", std::get<1>(*both));
    note(sum, "{a}1", std::get<2>(*both));
    if (both) sim::require(*std::get<2>(*both) == *std::get<0>(*both) + 1, "not one transaction");
  } else if (choice == 5) {
    co_await retried(many, world, sum, token);
  } else {
    const auto r = co_await many.exec<long>("INCR", key);
    note(sum, key, r);
  }
}

task<> caller(redis::cluster& many, sim::world& world, record& sum, char name) {
  for (int i = 0; i < calls_each; ++i) {
    const std::string token = {name, static_cast<char>('0' + i)};
    co_await one_call(many, world, sum, token);
    if (!world.random().chance(0.4)) continue;
    beck::steady_timer timer(many.get_executor(), below(world, 2'000'000));
    beck::ignore(co_await timer.async_wait());
  }
  ++sum.ended;
}

/// Four nodes, each on a host of its own, and a client on another one.
class cluster_world {
 public:
  explicit cluster_world(sim::world& in) : world(in) {
    for (int i = 0; i < all_nodes; ++i) {
      const std::string host(1, static_cast<char>('1' + i));
      sim::host& on = world.host("node" + host);
      contexts_.push_back(std::make_unique<beck::io_context>(on));
      contexts_.back()->on_log([](const char*, void*) {});  // of acceptors without descriptors
      const auto address = beck::ip::make_address("10.0.0." + host);
      nodes_.push_back(std::make_unique<node_server>(*contexts_.back(), truth,
                                                     beck::ip::tcp::endpoint(address, 6379)));
    }
    truth.replica_of[primaries] = 0;
    front.emplace(world.host("app"));
  }

  /// Lets time pass and disturbs the cluster.
  void disturb(int times) {
    for (int i = 0; i < times; ++i) {
      world.run_for(below(world, 3'000'000));
      disturb();
    }
  }
  /// Ends all disturbances. A node that is dead is replaced.
  void calm() {
    world.configure(sim::settings().calm());
    world.heal();
    truth.refusals.clear();
    for (const auto& one : nodes_) one->resume();
    if (is_dead_) world.run_for(below(world, 3'000'000'000));
    if (is_dead_) replace();
    while (!truth.migrations.empty()) truth.finish(truth.migrations.begin()->first);
  }
  /// Ends the nodes. Returns false if operations of the client, which is gone, are left.
  bool end() {
    for (const auto& one : nodes_) one->kill();
    world.run_for(std::chrono::minutes(1));
    return front->stats().outstanding == 0;
  }

  sim::world& world;
  cluster_truth truth;
  std::optional<beck::io_context> front;

 private:
  node_server& any_node() { return *nodes_[world.random().below(all_nodes)]; }
  int any_primary() { return static_cast<int>(world.random().below(primaries)); }
  void replace() {
    truth.fail_over(0, primaries);
    truth.replica_of.clear();
    truth.gone.insert(0);
  }
  void move_slot(std::uint16_t slot) {
    const int to = any_primary();
    if (to == truth.owner(slot) || (is_dead_ && to == 0)) return;
    if (world.random().chance(0.3)) {
      truth.migrations.erase(slot);
      truth.moved[slot] = to;
    } else {
      truth.migrations.try_emplace(slot, migration{to, {}});
    }
  }
  /// Goes on with a migration: moves a key, or ends it.
  void migrate() {
    if (truth.migrations.empty()) return;
    auto& [slot, way] = *truth.migrations.begin();
    const std::string key = any_name(world);
    if (redis::key_slot(key) == slot) way.moved.insert(key);
    if (world.random().chance(0.3)) truth.finish(slot);
  }
  void disturb() {
    switch (world.random().below(11)) {
      case 0:
        return any_node().cut();
      case 1:
        return any_node().pause();
      case 2:
        return any_node().resume();
      case 3:
      case 4:
        return move_slot(redis::key_slot(any_name(world)));
      case 5:
      case 6:
        return migrate();
      case 7:
        truth.refusals["INCR"] = {
            world.random().chance(0.5) ? "CLUSTERDOWN Hash slot not served" : "LOADING data",
            static_cast<int>(1 + world.random().below(3))};
        return;
      case 8:
        return any_node().cut_behind_next();
      case 9: {
        const std::string host = "node" + std::string(1, static_cast<char>('1' + any_primary()));
        world.link(world.host(host), world.host("app")).cut();
        return;
      }
      default:
        if (!is_dead_) nodes_[0]->kill();
        if (is_dead_ && truth.gone.empty()) replace();
        is_dead_ = true;
    }
  }

  std::vector<std::unique_ptr<beck::io_context>> contexts_;
  std::vector<std::unique_ptr<node_server>> nodes_;
  bool is_dead_ = false;
};

std::string check_counters(const cluster_truth& truth, const record& sum) {
  for (const auto& [key, of] : sum.of) {
    const long n = truth.number(key);
    if (n < of.executed) return "an increment of " + key + " that was answered is not counted";
    if (n > of.executed + of.maybe)
      return "an increment of " + key + " is counted that was not sent";
  }
  for (const auto& [key, of] : sum.retried) {
    const long n = truth.number(key);
    if (n < of.least) return "a retryable increment of " + key + " is not counted";
    if (n > of.most) return "a retryable increment of " + key + " is counted too often";
  }
  return {};
}

/// Returns how many increments were made again.
long made_again(const cluster_truth& truth, const record& sum) {
  long count = 0;
  for (const auto& [key, of] : sum.retried) count += std::max(0L, truth.number(key) - 2);
  return count;
}

void add(redis::cluster_stats& to, const redis::cluster_stats& one) {
  to.moved += one.moved;
  to.asked += one.asked;
  to.refused += one.refused;
  to.resent += one.resent;
  to.to_replicas += one.to_replicas;
}

/// The sums of all worlds.
struct totals {
  redis::cluster_stats stats;
  long made_again = 0;
};

std::string redis_program(sim::world& world, totals& all) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.2)) how.buffer_sizes(1 + world.random().below(2000), 4096);
  world.configure(how);
  cluster_world site(world);
  record sum;
  {
    sum.attempts = static_cast<long>(2 + world.random().below(3));
    redis::cluster_options options;
    options.connections.hold_timeout = 20s;
    options.connections.attempts = static_cast<std::uint32_t>(sum.attempts);
    if (world.random().chance(0.3)) options.reads = redis::prefer_replica;
    redis::cluster many(*site.front, "redis://10.0.0.2,10.0.0.1", options);
    for (int i = 0; i < callers; ++i)
      co_spawn(*site.front, caller(many, world, sum, static_cast<char>('a' + i)), beck::detached);
    site.disturb(8);
    site.calm();
    for (int i = 0; i < 60 && sum.ended != callers; ++i) world.run_for(10s);
    if (sum.ended != callers) return "a call has not ended";
    for (int i = 0; i < 100 && many.stats().calls != 0; ++i) world.run_for(100ms);
    if (many.stats().calls != 0) return "a call is left";
    add(all.stats, many.stats());
  }
  if (!site.end()) return "operations are left";
  all.made_again += made_again(site.truth, sum);
  return check_counters(site.truth, sum);
}

}  // namespace

TEST_CASE("redis cluster: 10,000 schedules with faults leave every call with its true outcome") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(10'000));
  totals all;
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.seeds = wanted},
                 [&](sim::world& world) { return redis_program(world, all); });
  CHECK(outcome.passed);
  // The faults have met commands, each kind of them.
  CHECK(all.stats.moved > wanted / 4);
  CHECK(all.stats.asked > wanted / 4);
  CHECK(all.stats.refused > wanted / 4);
  CHECK(all.stats.resent > wanted / 4);
  CHECK(all.stats.to_replicas > wanted / 4);
  CHECK(static_cast<std::uint64_t>(all.made_again) >= wanted / 200);
  beck::test::report_value("redis.cluster_schedules", static_cast<long long>(outcome.runs));
}
