// SPDX-License-Identifier: BSL-1.0
// Clients and a server in simulated worlds with faults of the network, of the server and of time:
// every call ends once, no reply reaches another call, and a counter on the server agrees with the
// outcomes.
#include <doctest/doctest.h>

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/check.hpp>

#include <chrono>
#include <set>
#include <string>

#include "redis/world_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/watchdog.hpp"

int beck::test::busy_limits_max() noexcept { return 10; }  // the search of schedules

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

constexpr int callers = 3;
constexpr int calls_each = 4;

/// The outcomes of the calls of a world.
struct tally {
  int ended = 0;
  long executed = 0;  // increments that were answered
  long maybe = 0;     // that may have run
  std::set<long> seen;
};

void note(tally& sum, const redis::reply<long>& r) {
  if (r.outcome() == outcome::maybe_executed) ++sum.maybe;
  if (r.outcome() != outcome::executed) return;
  ++sum.executed;
  if (!r) return sim::fail("an increment was refused: " + std::string(r.error_text()));
  sim::require(sum.seen.insert(*r).second, "two increments have one result");
}

void require_token(const redis::reply<std::string>& r, const std::string& token) {
  if (r.outcome() != outcome::executed) return;
  sim::require(r && *r == token, "a call got the reply of another one");
}

task<> one_call(redis::client& db, sim::random_source& random, tally& sum, std::string token) {
  const auto choice = random.below(6);
  if (choice == 0) {
    const auto r = co_await db.exec<std::string>("ECHO", token);
    require_token(r, token);
  } else if (choice == 1) {
    const auto all = co_await db.exec(cmd<long>("INCR", "n"), cmd<std::string>("ECHO", token),
                                      cmd<long>("INCR", "n"));
    note(sum, std::get<0>(*all));
    require_token(std::get<1>(*all), token);
    note(sum, std::get<2>(*all));
    outcome first = std::get<0>(*all).outcome();
    if (first == outcome::executed) first = std::get<1>(*all).outcome();
    if (first == outcome::executed) first = std::get<2>(*all).outcome();
    sim::require(all.outcome() == first, "the outcome of the whole is wrong");
  } else if (choice == 2) {
    const auto limit = beck::duration(static_cast<long long>(random.below(3'000'000)));
    const auto r = co_await beck::timeout(db.exec<long>("INCR", "n"), limit);
    note(sum, r);
  } else if (choice == 3) {
    const std::string large(static_cast<std::size_t>(random.below(40'000)), token[0]);
    const auto r = co_await db.exec<std::string>("ECHO", large);
    require_token(r, large);
  } else if (choice == 4) {
    const auto both = co_await db.transaction(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"));
    note(sum, std::get<0>(*both));
    note(sum, std::get<1>(*both));
    if (both) sim::require(*std::get<1>(*both) == *std::get<0>(*both) + 1, "not one transaction");
  } else {
    const auto r = co_await db.exec<long>("INCR", "n");
    note(sum, r);
  }
}

task<> caller(redis::client& db, sim::world& world, tally& sum, char name) {
  for (int i = 0; i < calls_each; ++i) {
    const std::string token = {name, static_cast<char>('0' + i)};
    co_await one_call(db, world.random(), sum, token);
    ++sum.ended;
    if (!world.random().chance(0.3)) continue;
    const auto time = static_cast<long long>(world.random().below(2'000'000));
    beck::steady_timer timer(db.get_executor(), beck::duration(time));
    beck::ignore(co_await timer.async_wait());
  }
}

std::string redis_program(sim::world& world) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.3)) how.buffer_sizes(1 + world.random().below(5000), 4096);
  world.configure(how);
  world_site site(world);
  tally sum;
  {
    redis::client db(
        site.front, "redis://10.0.0.1",
        {.hold_timeout = 20s, .attempts = static_cast<std::uint32_t>(2 + world.random().below(3))});
    for (int i = 0; i < callers; ++i) {
      co_spawn(site.front, caller(db, world, sum, static_cast<char>('a' + i)), beck::detached);
    }
    site.disturb(4, 3'000'000, 400);
    site.calm();
    if (!site.run_until([&] { return sum.ended == callers * calls_each; }))
      return "a call has not ended";
    for (int i = 0; i < 100 && db.stats().in_flight != 0; ++i) world.run_for(100ms);
    if (db.stats().waiting != 0 || db.stats().in_flight != 0) return "something is left";
  }
  if (!site.end()) return "operations are left";
  const long n = static_cast<long>(site.server.integer("n"));
  if (n < sum.executed) return "an increment that was answered is not counted";
  if (n > sum.executed + sum.maybe) return "an increment is counted that was not sent";
  return {};
}

}  // namespace

TEST_CASE("redis client: 100,000 schedules with faults leave every call with its true outcome") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(100'000));
  const sim::check_outcome outcome = sim::check(sim::check_options{.seeds = wanted}, redis_program);
  CHECK(outcome.passed);
  beck::test::report_value("redis.schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("redis client: a context that is always late closes a silent connection, too") {
  sim::world world(1, sim::settings().calm());
  beck::io_context back(world.host("redis"));
  beck::io_context front(world.host("app"));
  redis::memory_server server(back, 6379);
  redis::client db(front, "redis://10.0.0.1");
  bool is_ready = false;
  beck::error_code end;
  db.exec<long>("INCR", "n")([&](beck::error_code, const redis::reply<long>&) { is_ready = true; });
  while (!is_ready) world.run_for(1ms);
  server.pause();
  db.exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>&) { end = ec; });
  for (int i = 0; i < 40 && !end; ++i) {
    world.jump(1700ms);
    world.run_for(1ms);
  }
  CHECK(end == redis::error::server_silent);
  db.close();
  server.close();
  world.run_for(1s);
}
