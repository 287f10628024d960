// SPDX-License-Identifier: BSL-1.0
// Lanes in simulated worlds with faults: callers that pop with limits of time and others that push.
// No element is popped twice, and none is missing that no caller may have popped.
#include <doctest/doctest.h>

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/check.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "redis/world_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

using popped = std::optional<std::tuple<std::string, std::string>>;

constexpr int poppers = 3;
constexpr int rounds = 3;
constexpr int pushers = 2;
constexpr int pushes_each = 5;

/// The outcomes of the calls of a world.
struct tally {
  int ended = 0;    // tasks
  long pushed = 0;  // answered
  long maybe_pushed = 0;
  std::set<std::string> got;
  long maybe_popped = 0;
  long watched = 0;  // increments by a transaction behind WATCH that were answered
  long maybe_watched = 0;
};

beck::duration below(sim::world& world, std::uint64_t nanoseconds) {
  return beck::duration(static_cast<long long>(world.random().below(nanoseconds)));
}

void note_pop(tally& sum, const redis::reply<popped>& r) {
  if (r.outcome() == outcome::maybe_executed) ++sum.maybe_popped;
  if (!r || !*r) return;
  sim::require(r.outcome() == outcome::executed, "a value without an answer");
  sim::require(sum.got.insert(std::get<1>(**r)).second, "an element was popped twice");
}

task<> pop_some(redis::lane& lane, sim::world& world, tally& sum) {
  for (int i = 0; i < 3; ++i) {
    const auto choice = world.random().below(4);
    if (choice == 0) {
      const auto r = co_await lane.exec<popped>("BLPOP", "q", 0.002);
      note_pop(sum, r);
    } else if (choice == 1) {
      const auto r =
          co_await beck::timeout(lane.exec<popped>("BLPOP", "q", 0.003), below(world, 3'000'000));
      note_pop(sum, r);
    } else if (choice == 2) {
      const auto token = std::to_string(world.random().below(1'000'000));
      const auto r = co_await beck::timeout(
          lane.exec(cmd<popped>("BLPOP", "q", 0), cmd<std::string>("ECHO", token)),
          below(world, 3'000'000));
      note_pop(sum, std::get<0>(*r));
      const auto& echo = std::get<1>(*r);
      sim::require(!echo || *echo == token, "a call got the reply of another one");
    } else {
      const auto r =
          co_await beck::timeout(lane.exec<popped>("BLPOP", "q", 0), below(world, 3'000'000));
      note_pop(sum, r);
      sim::require(r.error() != redis::error::unblocked, "another call's wait was ended");
    }
  }
}

/// Increments a number by a transaction that depends on its value.
task<> count_one(redis::lane& lane, tally& sum) {
  const auto watched = co_await lane.exec<void>("WATCH", "n");
  const auto n = co_await lane.exec<std::optional<long>>("GET", "n");
  if (!watched || !n) co_return;
  const long next = (*n).value_or(0) + 1;
  const auto all = co_await lane.transaction(cmd<void>("SET", "n", next));
  if (all) ++sum.watched;
  if (all.outcome() == outcome::maybe_executed) ++sum.maybe_watched;
}

task<> popper(redis::client& db, sim::world& world, tally& sum) {
  for (int i = 0; i < rounds; ++i) {
    auto taken = co_await beck::timeout(db.lane(), 1s + below(world, 10'000'000));
    if (!taken) continue;
    redis::lane lane = std::move(taken).value();
    co_await pop_some(lane, world, sum);
    if (world.random().chance(0.5)) co_await count_one(lane, sum);
    if (world.random().chance(0.1)) lane.close();
  }
  ++sum.ended;
}

task<> pusher(redis::client& db, sim::world& world, tally& sum, char name) {
  for (int i = 0; i < pushes_each; ++i) {
    const std::string value = {name, static_cast<char>('0' + i)};
    const auto r = co_await db.exec<long>("RPUSH", "q", value);
    if (r) ++sum.pushed;
    if (r.outcome() == outcome::maybe_executed) ++sum.maybe_pushed;
    beck::steady_timer timer(db.get_executor(), below(world, 2'000'000));
    beck::ignore(co_await timer.async_wait());
  }
  ++sum.ended;
}

task<> count_left(redis::client& db, long& left, long& n) {
  const auto length = co_await db.exec<long>("LLEN", "q");
  left = length ? *length : -1;
  const auto number = co_await db.exec<std::optional<long>>("GET", "n");
  n = number ? (*number).value_or(0) : -1;
}

std::string compare(const tally& sum, long left, long n) {
  const auto got = static_cast<long>(sum.got.size());
  if (left < 0 || n < 0) return "the server does not answer in the end";
  if (got + left > sum.pushed + sum.maybe_pushed) return "more elements than were pushed";
  if (got + left + sum.maybe_popped < sum.pushed) return "an element is lost";
  if (n < sum.watched || n > sum.watched + sum.maybe_watched)
    return "a transaction counted wrongly";
  return {};
}

std::string lane_program(sim::world& world, bool has_faults) {
  if (has_faults) {
    world.configure(sim::settings().with(sim::faults()));
  } else {
    world.configure(sim::settings());
  }
  world_site site(world);
  tally sum;
  std::string verdict;
  {
    redis::client db(
        site.front, "redis://10.0.0.1",
        {.hold_timeout = 20s, .lanes = static_cast<std::uint32_t>(1 + world.random().below(3))});
    for (int i = 0; i < poppers; ++i) co_spawn(site.front, popper(db, world, sum), beck::detached);
    for (int i = 0; i < pushers; ++i) {
      co_spawn(site.front, pusher(db, world, sum, static_cast<char>('a' + i)), beck::detached);
    }
    if (has_faults) site.disturb(4, 4'000'000, 600);
    site.calm();
    if (!site.run_until([&] { return sum.ended == poppers + pushers; }))
      return "a call has not ended";
    if (!has_faults && sum.maybe_popped + sum.maybe_pushed + sum.maybe_watched > 0)
      return "nothing was disturbed, and an outcome is not known";
    long left = -1;
    long n = -1;
    co_spawn(site.front, count_left(db, left, n), beck::detached);
    world.run_for(1min);
    verdict = compare(sum, left, n);
  }
  if (!site.end()) return "operations are left";
  return verdict;
}

std::string with_faults(sim::world& world) { return lane_program(world, true); }
std::string without_faults(sim::world& world) { return lane_program(world, false); }

}  // namespace

TEST_CASE("redis lane: 20,000 schedules with faults lose no element that was not maybe popped") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(20'000));
  const sim::check_outcome outcome = sim::check(sim::check_options{.seeds = wanted}, with_faults);
  CHECK(outcome.passed);
  beck::test::report_value("redis.lane_schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("redis lane: in 10,000 schedules without faults every outcome is known") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(10'000));
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.seeds = wanted}, without_faults);
  CHECK(outcome.passed);
}
