// SPDX-License-Identifier: BSL-1.0
// Clients, three sentinels and two servers in simulated worlds with faults: primaries die, stop and
// go on taking writes, sentinels are lost and behind. Each call ends once, and both servers
// together have executed as many increments as the outcomes say.
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/testing/check.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "redis/sentinel_server.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

constexpr int callers = 3;
constexpr int calls_each = 5;

struct tally {
  long executed = 0;
  long maybe = 0;
  int ended = 0;
  long switches = 0;
  std::uint64_t connections = 0;
};

beck::duration below(sim::world& world, std::uint64_t ns) {
  return beck::duration(static_cast<long long>(world.random().below(ns)));
}

void note(tally& sum, const redis::reply<long>& r) {
  if (r.outcome() == outcome::maybe_executed) ++sum.maybe;
  if (r.outcome() != outcome::executed) return;
  if (r) ++sum.executed;
  if (!r) sim::require(r.error() == redis::error::readonly, "an increment was refused");
}

task<> caller(redis::client& db, sim::world& world, tally& sum, char name) {
  for (int i = 0; i < calls_each; ++i) {
    const auto choice = world.random().below(4);
    const std::string token = {name, static_cast<char>('0' + i)};
    if (choice == 0) {
      const auto r = co_await beck::timeout(db.exec<long>("INCR", "n"), below(world, 3'000'000));
      note(sum, r);
    } else if (choice == 1) {
      const auto all = co_await db.exec(cmd<long>("INCR", "n"), cmd<std::string>("ECHO", token),
                                        cmd<long>("INCR", "n"));
      note(sum, std::get<0>(*all));
      note(sum, std::get<2>(*all));
      const auto& echo = std::get<1>(*all);
      if (echo) sim::require(*echo == token, "a call got the reply of another one");
    } else {
      const auto r = co_await db.exec<long>("INCR", "n");
      note(sum, r);
    }
    if (!world.random().chance(0.4)) continue;
    beck::steady_timer timer(db.get_executor(), below(world, 20'000'000));
    beck::ignore(co_await timer.async_wait());
  }
  ++sum.ended;
}

/// Two servers and three sentinels, each on a host of its own, and the host of the client.
class sentinel_world {
 public:
  explicit sentinel_world(sim::world& in) : world(in) {
    for (int i = 0; i < 2; ++i) {
      const auto address = beck::ip::make_address("10.0.0." + std::to_string(1 + i));
      places.emplace_back(address, 6379);
      servers.push_back(std::make_unique<redis::memory_server>(context("redis"), places.back()));
    }
    servers[1]->become_replica("10.0.0.1", 6379);
    for (int i = 0; i < 3; ++i) {
      const auto address = beck::ip::make_address("10.0.0." + std::to_string(3 + i));
      sentinels.push_back(std::make_unique<sentinel_server>(
          context("sentinel"), beck::ip::tcp::endpoint(address, 26379)));
      sentinels.back()->know(text_of(places[0]), 1);
    }
    front.emplace(world.host("app"));
  }

  void disturb(int times) {
    for (int i = 0; i < times; ++i) {
      world.run_for(below(world, 30'000'000));
      disturb();
    }
  }
  /// Ends all disturbances; the sentinels agree in the end, and the former primary is a replica.
  void calm() {
    world.configure(sim::settings().calm());
    world.heal();
    for (const auto& one : sentinels) one->revive();
    for (const auto& one : sentinels) one->resume();
    for (const auto& one : servers) one->resume();
    demote();
    spread(3);
  }
  bool end() {
    for (const auto& one : sentinels) one->kill();
    for (const auto& one : servers) one->close();
    world.run_for(std::chrono::minutes(1));
    return front->stats().outstanding == 0;
  }
  /// Returns how many increments both servers have executed.
  long increments() const {
    return static_cast<long>(servers[0]->integer("n") + servers[1]->integer("n"));
  }

  sim::world& world;
  std::vector<std::unique_ptr<beck::io_context>> contexts;
  std::vector<beck::ip::tcp::endpoint> places;
  std::vector<std::unique_ptr<redis::memory_server>> servers;
  std::vector<std::unique_ptr<sentinel_server>> sentinels;
  std::optional<beck::io_context> front;
  long epoch = 1;

 private:
  beck::io_context& context(const char* kind) {
    sim::host& on = world.host(kind + std::to_string(contexts.size()));
    contexts.push_back(std::make_unique<beck::io_context>(on));
    contexts.back()->on_log([](const char*, void*) {});  // of acceptors without descriptors
    return *contexts.back();
  }
  std::size_t primary() const { return static_cast<std::size_t>((epoch - 1) % 2); }
  sentinel_server& any_sentinel() { return *sentinels[world.random().below(3)]; }
  /// Lets so many sentinels know the primary; some announce it, others are found out by questions.
  void spread(std::size_t most) {
    for (std::size_t i = 0; i < most; ++i) {
      sentinel_server& one = *sentinels[i];
      if (world.random().chance(0.7)) {
        one.switch_to(text_of(places[primary()]), epoch);
      } else {
        one.know(text_of(places[primary()]), epoch);
      }
    }
  }
  void demote() {
    const auto& now = places[primary()];
    servers[1 - primary()]->become_replica(text_of(now), now.port());
  }
  void disturb() {
    switch (world.random().below(11)) {
      case 0:
        return servers[primary()]->cut();
      case 1:
        return servers[primary()]->pause();
      case 2:
        return servers[world.random().below(2)]->resume();
      case 3:
        return any_sentinel().kill();
      case 4:
        return any_sentinel().revive();
      case 5:
        return any_sentinel().cut();
      case 6:
        return world.random().chance(0.5) ? any_sentinel().pause() : any_sentinel().resume();
      case 7:
        world.link(world.host("redis" + std::to_string(primary())), world.host("app")).cut();
        return;
      case 8:
        return demote();
      default:  // a switch: the former primary takes writes for a while
        ++epoch;
        servers[primary()]->become_primary();
        servers[primary()]->resume();
        spread(1 + world.random().below(3));
    }
  }
};

std::string redis_program(sim::world& world, tally& all) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.2)) how.buffer_sizes(1 + world.random().below(2000), 4096);
  world.configure(how);
  sentinel_world site(world);
  tally sum;
  {
    redis::client db(
        *site.front, "redis+sentinel://10.0.0.3,10.0.0.4,10.0.0.5/" + std::string(primary_name),
        {.hold_timeout = 20s, .attempts = static_cast<std::uint32_t>(2 + world.random().below(3))});
    for (int i = 0; i < callers; ++i)
      co_spawn(*site.front, caller(db, world, sum, static_cast<char>('a' + i)), beck::detached);
    site.disturb(10);
    site.calm();
    for (int i = 0; i < 60 && sum.ended != callers; ++i) world.run_for(10s);
    if (sum.ended != callers) return "a call has not ended";
    // All sentinels agree now, so the next command is at the primary.
    world.run_for(30s);
    std::optional<redis::outcome> last;
    db.exec<long>("INCR", "n")([&](beck::error_code, const redis::reply<long>& r) {
      note(sum, r);
      last = r ? r.outcome() : outcome::not_sent;
    });
    for (int i = 0; i < 60 && !last; ++i) world.run_for(1s);
    if (last != outcome::executed) return "no command is executed although all is well";
    all.connections += db.stats().connections;
  }
  all.executed += sum.executed;
  all.maybe += sum.maybe;
  all.switches += site.epoch - 1;
  if (!site.end()) return "operations are left";
  const long n = site.increments();
  if (n < sum.executed) return "an increment that was answered is not counted";
  if (n > sum.executed + sum.maybe) return "an increment is counted that was not sent";
  return {};
}

}  // namespace

TEST_CASE("redis sentinel: 5,000 schedules with faults leave every call with its true outcome") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(5'000));
  tally all;
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.seeds = wanted},
                 [&](sim::world& world) { return redis_program(world, all); });
  CHECK(outcome.passed);
  // The faults have met commands, and clients have moved.
  CHECK(all.switches > static_cast<long>(wanted));
  CHECK(all.maybe > static_cast<long>(wanted / 20));
  CHECK(all.executed > static_cast<long>(wanted * 10));
  CHECK(all.connections > wanted * 3 / 2);
  beck::test::report_value("redis.sentinel_schedules", static_cast<long long>(outcome.runs));
}
