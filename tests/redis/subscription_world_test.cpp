// SPDX-License-Identifier: BSL-1.0
// Subscribers and a publisher that numbers its messages, in simulated worlds with faults: what a
// subscriber has not seen is announced by a gap at its place, and a number of dropped messages is
// the right one.
#include <doctest/doctest.h>

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/redis/subscription.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/check.hpp>

#include <charconv>
#include <chrono>
#include <map>
#include <ostream>
#include <string>

#include "redis/world_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace beck::redis::test;
namespace sim = beck::testing::sim;

namespace {

constexpr long published = 25;

long number_of(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The events of a world.
struct record {
  std::map<long, long> places;  // of the numbers whose PUBLISH the server has run, in this order
  int ended = 0;                // tasks

  long count() const { return static_cast<long>(places.size()); }
};

task<> pause(sim::world& world, beck::any_io_executor on, std::uint64_t most) {
  beck::steady_timer timer(on, beck::duration(static_cast<long long>(world.random().below(most))));
  beck::ignore(co_await timer.async_wait());
}

/// Publishes each number once, alone, behind another command, or in a transaction.
task<> publish(sim::world& world, redis::client& db, record& sum) {
  for (long i = 1; i <= published; ++i) {
    const auto how = world.random().below(3);
    if (how == 0) {
      beck::ignore(co_await db.exec<long>("PUBLISH", "n", i));
    } else if (how == 1) {
      beck::ignore(co_await db.exec(cmd<long>("INCR", "k"), cmd<long>("PUBLISH", "n", i)));
    } else {
      beck::ignore(co_await db.transaction(cmd<long>("PUBLISH", "n", i), cmd<long>("INCR", "k")));
    }
    if (world.random().chance(0.5)) co_await pause(world, db.get_executor(), 2'000'000);
  }
  ++sum.ended;
}

/// Receives up to the last number, and checks each step.
task<> receive(sim::world& world, redis::client& db, redis::subscription& sub, record& sum) {
  for (;;) {
    const auto on = co_await sub.add("n", redis::pattern("other*"));
    if (on) break;
  }
  long seen = sum.count();  // those behind it have to come, and some before it may
  bool is_first = true;
  bool is_gap = false;
  long dropped = 0;
  long number = 0;
  while (number <= published) {
    auto next = sub.next();
    const auto e = co_await beck::timeout(
        std::move(next), beck::duration(static_cast<long long>(world.random().below(40'000'000))));
    if (e.error() == beck::error::timeout) continue;
    if (!e) co_return sim::fail("a subscription has ended");
    if (e->is_gap()) {
      is_gap = is_gap || e->dropped() == 0;
      dropped += static_cast<long>(e->dropped());
      continue;
    }
    number = number_of(e->payload());
    const auto known = sum.places.find(number);
    sim::require(known != sum.places.end(), "a message that was not published");
    const long place = known->second;
    sim::require(place > seen || is_first, "a message came late, or twice");
    const long missing = place > seen ? place - seen - 1 : 0;
    sim::require(is_gap || dropped >= missing, "an unseen gap");
    sim::require(is_gap || is_first || dropped == missing, "another number was dropped");
    if (place > seen) {
      seen = place;
      is_first = false;
    }
    is_gap = false;
    dropped = 0;
    if (world.random().chance(0.3)) co_await pause(world, db.get_executor(), 3'000'000);
  }
  ++sum.ended;
}

/// Adds and removes channels.
task<> change(sim::world& world, redis::client& db, record& sum) {
  redis::subscription kept(db);
  for (int i = 0; i < 6; ++i) {
    redis::subscription sub(db);
    const auto limit = beck::duration(static_cast<long long>(world.random().below(3'000'000)));
    const std::string name = "c" + std::to_string(world.random().below(3));
    auto one = sub.add("n", name);
    beck::ignore(co_await beck::timeout(std::move(one), limit));
    auto other = kept.add(name, redis::sharded(name));
    beck::ignore(co_await beck::timeout(std::move(other), limit));
    if (world.random().chance(0.5)) kept.remove(name);
    if (world.random().chance(0.5)) co_await pause(world, db.get_executor(), 1'000'000);
  }
  ++sum.ended;
}

std::string redis_program(sim::world& world) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.3)) how.buffer_sizes(1 + world.random().below(5000), 4096);
  world.configure(how);
  world_site site(world);
  record sum;
  site.server.on_command([&](const redis::arguments& command) {
    if (command[0] != "PUBLISH") return;
    const long number = number_of(command[2]);
    sim::require(sum.places.emplace(number, sum.count() + 1).second, "published twice");
  });
  {
    redis::client db(site.front, "redis://10.0.0.1", {.hold_timeout = 20s});
    redis::client source(site.front, "redis://10.0.0.1", {.hold_timeout = 20s});
    redis::subscription large(db);
    redis::subscription oldest(db, {.events = 2});
    redis::subscription newest(db, {.overflow = redis::drop_newest, .events = 2});
    for (redis::subscription* const sub : {&large, &oldest, &newest})
      co_spawn(site.front, receive(world, db, *sub, sum), beck::detached);
    co_spawn(site.front, publish(world, world.random().chance(0.5) ? db : source, sum),
             beck::detached);
    co_spawn(site.front, change(world, db, sum), beck::detached);
    site.disturb(4, 4'000'000, 900);
    site.calm();
    site.run_until([&] { return sum.ended >= 2; });
    for (int i = 0; i < 60 && sum.ended < 5; ++i) {
      source.exec<long>("PUBLISH", "n",
                        published + 1 + i)([](beck::error_code, const redis::reply<long>&) {});
      site.run_until([&] { return sum.ended >= 5; }, 10s);
    }
    if (sum.ended < 5) return "a message has not come, or a call has not ended";
  }
  return site.end() ? "" : "operations are left";
}

}  // namespace

TEST_CASE("redis subscription: 20,000 schedules with faults have no gap that is not announced") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(20'000));
  const sim::check_outcome outcome = sim::check(sim::check_options{.seeds = wanted}, redis_program);
  CHECK(outcome.passed);
  beck::test::report_value("redis.subscription_schedules", static_cast<long long>(outcome.runs));
}
