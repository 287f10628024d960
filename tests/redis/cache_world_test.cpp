// SPDX-License-Identifier: BSL-1.0
// Readers with caches and writers in simulated worlds with faults. A counter only grows, so a reply
// that is out of date shows: it is lower than one that was returned before, or than the counter was
// at the server before a PING that has gone over the same connection as the message of the change.
#include <doctest/doctest.h>

#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/check.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "redis/world_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

constexpr std::size_t keys = 3;
constexpr int reads_each = 12;
constexpr int writes_each = 8;
constexpr int readers = 3;

/// The events of a world.
struct record {
  long written[keys] = {};  // INCR that the server has executed
  long seen[keys] = {};     // the greatest number that a call has returned
  int ended = 0;            // tasks
};

std::string name_of(std::size_t key) { return std::string(1, static_cast<char>('a' + key)); }

std::size_t any_key(sim::world& world) {
  return static_cast<std::size_t>(world.random().below(keys));
}

beck::duration below(sim::world& world, std::uint64_t ns) {
  return beck::duration(static_cast<long long>(world.random().below(ns)));
}

task<> pause(sim::world& world, beck::any_io_executor on, std::uint64_t most) {
  beck::steady_timer timer(on, below(world, most));
  beck::ignore(co_await timer.async_wait());
}

task<> write(sim::world& world, redis::client& db, record& sum) {
  for (int i = 0; i < writes_each; ++i) {
    const std::string key = name_of(any_key(world));
    if (world.random().chance(0.7)) {
      beck::ignore(co_await db.exec<long>("INCR", key));
    } else {
      beck::ignore(co_await db.transaction(cmd<void>("PING"), cmd<long>("INCR", key)));
    }
    if (world.random().chance(0.5)) co_await pause(world, db.get_executor(), 1'000'000);
  }
  ++sum.ended;
}

/// The numbers below which a reply is out of date.
struct floors {
  explicit floors(const long (&of)[keys]) { std::copy(of, of + keys, least); }
  void raise(const floors& other) {
    for (std::size_t k = 0; k < keys; ++k) least[k] = std::max(least[k], other.least[k]);
  }
  void check(std::size_t key, const std::optional<long>& got, record& sum) const {
    const long number = got.value_or(0);
    sim::require(number >= least[key], "a reply that is out of date");
    sim::require(number <= sum.written[key], "a number that was not written");
    sum.seen[key] = std::max(sum.seen[key], number);
  }

  long least[keys];
};

task<> read_one(sim::world& world, redis::cache& cache, beck::duration age, const floors& from,
                record& sum) {
  const std::size_t key = any_key(world);
  auto reading = cache.exec<std::optional<long>>(age, "GET", name_of(key));
  if (world.random().chance(0.2)) {
    const auto r = co_await beck::timeout(std::move(reading), below(world, 1'000'000));
    if (r) from.check(key, *r, sum);
  } else {
    const auto r = co_await std::move(reading);
    if (r) from.check(key, *r, sum);
  }
}

task<> read_all(redis::cache& cache, beck::duration age, const floors& from, record& sum) {
  const auto r = co_await cache.exec<std::vector<std::optional<long>>>(age, "MGET", "a", "b", "c");
  if (!r) co_return;
  for (std::size_t k = 0; k < keys; ++k) from.check(k, (*r)[k], sum);
}

task<> read(sim::world& world, redis::client& db, redis::cache& cache, record& sum) {
  for (int i = 0; i < reads_each; ++i) {
    floors from(sum.seen);
    if (world.random().chance(0.3)) {
      const floors at_server(sum.written);
      const auto passed = co_await db.exec<void>("PING");
      if (passed) from.raise(at_server);
    }
    const beck::duration age = world.random().chance(0.1)   ? beck::duration()
                               : world.random().chance(0.2) ? below(world, 1'000'000)
                                                            : beck::duration(60'000'000'000);
    if (world.random().chance(0.8)) {
      co_await read_one(world, cache, age, from, sum);
    } else {
      co_await read_all(cache, age, from, sum);
    }
    if (world.random().chance(0.4)) co_await pause(world, db.get_executor(), 800'000);
  }
  ++sum.ended;
}

/// Makes caches and ends them.
task<> change(sim::world& world, redis::client& db, record& sum) {
  for (int i = 0; i < 3; ++i) {
    redis::cache passing(db, 1'000);
    const floors from(sum.seen);
    co_await read_one(world, passing, 1min, from, sum);
    passing.exec<long>(1min, "GET", "a")([](beck::error_code, const redis::reply<long>&) {});
    if (world.random().chance(0.5)) co_await pause(world, db.get_executor(), 1'000'000);
  }
  ++sum.ended;
}

std::string redis_program(sim::world& world, std::uint64_t& hits, std::uint64_t& invalidated) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.2)) how.buffer_sizes(1 + world.random().below(2000), 4096);
  world.configure(how);
  world_site site(world);
  record sum;
  site.server.on_command([&](const redis::arguments& command) {
    if (command[0] == "INCR") ++sum.written[static_cast<std::size_t>(command[1][0] - 'a')];
  });
  {
    redis::client db(site.front, "redis://10.0.0.1", {.hold_timeout = 20s});
    redis::client other(site.front, "redis://10.0.0.1", {.hold_timeout = 20s});
    constexpr std::size_t narrow = 1'000;
    redis::cache large(db, 100'000);
    redis::cache small(db, narrow);
    for (int i = 0; i < readers; ++i)
      co_spawn(site.front, read(world, db, i == 0 ? small : large, sum), beck::detached);
    co_spawn(site.front, write(world, db, sum), beck::detached);
    co_spawn(site.front, write(world, other, sum), beck::detached);
    co_spawn(site.front, change(world, db, sum), beck::detached);
    site.disturb(4, 3'000'000, 900);
    site.calm();
    if (!site.run_until([&] { return sum.ended == readers + 3; })) return "a call has not ended";
    if (small.stats().bytes > narrow) return "a cache holds more bytes than it may";
    hits += large.stats().hits + small.stats().hits;
    invalidated += large.stats().invalidated + small.stats().invalidated;
  }
  return site.end() ? "" : "operations are left";
}

}  // namespace

TEST_CASE("redis cache: 10,000 schedules with faults return nothing that is out of date") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(10'000));
  std::uint64_t hits = 0;
  std::uint64_t invalidated = 0;
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.seeds = wanted},
                 [&](sim::world& world) { return redis_program(world, hits, invalidated); });
  CHECK(outcome.passed);
  CHECK(hits > 5 * wanted);
  CHECK(invalidated > wanted);
  beck::test::report_value("redis.cache_schedules", static_cast<long long>(outcome.runs));
}
