// SPDX-License-Identifier: BSL-1.0
//
// system_timer: waits for a date. What it shares with steady_timer is tested there in more detail;
// here it is what dates and their changes mean (T3).
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <chrono>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/machine.hpp"
#include "support/outcome.hpp"

using namespace std::chrono_literals;
using beck::system_time_point;
using beck::system_timer;
using beck::error::operation_aborted;
using beck::test::machine;
using beck::test::note;
using beck::test::outcome;
using beck::test::sim;

namespace {

/// The date on the machine of a case.
system_time_point date_of(beck::io_context& ctx) {
  system_time_point seen;
  beck::post(ctx, [&] { seen = beck::system_now(); });
  ctx.restart();
  ctx.poll_one();
  ctx.restart();
  return seen;
}

}  // namespace

CONFORMANCE("a wait for a date never ends before it") {
  machine here;
  beck::io_context ctx(here.options());
  std::vector<system_timer> timers;
  int ended = 0;
  for (int i = 0; i < 30; ++i) {
    timers.emplace_back(ctx, std::chrono::microseconds(37 * i));
    const auto expiry = timers.back().expiry();
    timers.back().async_wait([&ended, expiry](beck::error_code ec) {
      CHECK_FALSE(ec);
      CHECK(beck::system_now() >= expiry);
      ++ended;
    });
  }
  CHECK(ctx.run() == 30);
  CHECK(ended == 30);
}

CONFORMANCE("waits for dates end in their order, equal ones in the order of their start") {
  machine here;
  beck::io_context ctx(here.options());
  const system_timer base(ctx, 1ms);
  std::vector<system_timer> timers;
  std::vector<int> order;
  for (const int i : {3, 0, 4, 1, 5, 2, 2, 0}) {
    timers.emplace_back(ctx, base.expiry() + std::chrono::microseconds(100 * i));
    const int name = static_cast<int>(timers.size()) - 1;
    timers.back().async_wait([&order, name](beck::error_code) { order.push_back(name); });
  }
  ctx.run();
  CHECK(order == std::vector{1, 7, 3, 5, 6, 0, 2, 4});
}

CONFORMANCE("dates in the past, negative durations and timers never set have expired") {
  machine here;
  beck::io_context ctx(here.options());
  std::array<system_timer, 5> past{system_timer(ctx, -1h), system_timer(ctx, beck::duration::min()),
                                   system_timer(ctx, system_time_point()),
                                   system_timer(ctx, system_time_point::min()), system_timer(ctx)};
  std::array<outcome, 5> ended;
  for (std::size_t i = 0; i < past.size(); ++i) past[i].async_wait(note(ended[i]));
  CHECK(ctx.run() == 5);
  for (const outcome& one : ended) CHECK(one.ok());
}

CONFORMANCE("durations that lead past the last date saturate to never") {
  machine here;
  beck::io_context ctx(here.options());
  std::array<system_timer, 3> never{system_timer(ctx, beck::duration::max()),
                                    system_timer(ctx, std::chrono::hours::max()),
                                    system_timer(ctx, system_time_point::max())};
  std::array<outcome, 3> ended;
  for (std::size_t i = 0; i < never.size(); ++i) {
    CHECK(never[i].expiry().is_never());
    never[i].async_wait(note(ended[i]));
  }
  CHECK(ctx.run_for(2ms) == 0);
  for (system_timer& timer : never) CHECK(timer.cancel() == 1);
  ctx.restart();
  CHECK(ctx.run() == 3);
  for (const outcome& one : ended) CHECK(one.aborted());
}

CONFORMANCE("an expiry is a date of the standard's system clock") {
  machine here;
  beck::io_context ctx(here.options());
  const auto day = std::chrono::system_clock::time_point(24h * 20'000);
  const system_timer timer(ctx, day);
  CHECK(timer.expiry().time_since_epoch() == beck::duration(24h * 20'000));
  static_assert(!std::is_convertible_v<std::chrono::steady_clock::time_point, system_time_point>);
  static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, beck::time_point>);
  if (beck::test::current_backend() != beck::test::on_sim) {
    const system_time_point before = std::chrono::system_clock::now();
    const system_time_point seen = date_of(ctx);
    CHECK(before <= seen);
    CHECK(seen <= system_time_point(std::chrono::system_clock::now()));
  }
}

CONFORMANCE("cancel and cancel_one end waits for a date, a new expiry too") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer timer(ctx, 1h);
  std::array<outcome, 4> waits;
  for (int i = 0; i < 3; ++i) timer.async_wait(note(waits[static_cast<std::size_t>(i)]));
  CHECK(timer.cancel_one() == 1);
  CHECK(ctx.poll() == 1);
  CHECK(waits[0].aborted());
  CHECK(timer.expires_after(1ms) == 2);
  timer.async_wait(note(waits[3]));
  ctx.run();
  CHECK(waits[1].aborted());
  CHECK(waits[2].aborted());
  CHECK(waits[3].ok());
  CHECK(timer.expires_at(system_time_point::max()) == 0);
  CHECK(timer.cancel() == 0);
}

CONFORMANCE("destroying, moving and assigning treat waits for a date as any other") {
  machine here;
  beck::io_context ctx(here.options());
  std::array<outcome, 3> waits;
  {
    system_timer dies(ctx, 1h);
    dies.async_wait(note(waits[0]));
  }
  system_timer source(ctx, 1h), old(ctx, 2h);
  source.async_wait(note(waits[1]));
  old.async_wait(note(waits[2]));
  const auto expiry = source.expiry();
  old = std::move(source);
  CHECK(old.expiry() == expiry);
  ctx.poll();
  CHECK(waits[0].aborted());
  CHECK(waits[2].aborted());
  CHECK_FALSE(waits[1].done());
  CHECK(old.cancel() == 1);
  CHECK(source.cancel() == 0);
  ctx.restart();
  ctx.run();
  CHECK(waits[1].aborted());
}

CONFORMANCE("a timer for a date that has come is armed for ever without starving others (T4)") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer zero(ctx);
  beck::steady_timer steady(ctx, 1ms);
  int rounds = 0;
  bool over = false;
  struct again {
    system_timer& timer;
    int& rounds;
    bool& over;
    void operator()(beck::error_code ec) const {
      CHECK_FALSE(ec);
      ++rounds;
      if (over) return;
      timer.expires_after(0ns);
      timer.async_wait(*this);
    }
  };
  zero.async_wait(again{zero, rounds, over});
  int posts = 0;
  auto poster = [&]() -> beck::task<> {
    for (; posts < 100; ++posts) co_await beck::post(ctx, beck::deferred);
  };
  beck::co_spawn(ctx, poster, beck::detached);
  steady.async_wait([&](beck::error_code) { over = true; });
  ctx.run();
  CHECK(posts == 100);
  CHECK(rounds > 1);
}

CONFORMANCE("waits for dates and for steady time end in one order") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer second(ctx, 4ms), fourth(ctx, 12ms);
  beck::steady_timer first(ctx, 1ms), third(ctx, 8ms);
  std::vector<int> order;
  second.async_wait([&](beck::error_code) { order.push_back(2); });
  fourth.async_wait([&](beck::error_code) { order.push_back(4); });
  first.async_wait([&](beck::error_code) { order.push_back(1); });
  third.async_wait([&](beck::error_code) { order.push_back(3); });
  CHECK(ctx.run() == 4);
  // On a real machine the two clocks are read apart, and a pause may reorder neighbours.
  if (beck::test::current_backend() == beck::test::on_sim) {
    CHECK(order == std::vector{1, 2, 3, 4});
  }
  CHECK(order.size() == 4);
}

CONFORMANCE("a coroutine waits for a date") {
  machine here;
  beck::io_context ctx(here.options());
  bool over = false;
  auto waiter = [&]() -> beck::task<> {
    system_timer timer(ctx, 1ms);
    const auto waited = co_await timer.async_wait();
    CHECK(waited);
    CHECK(beck::system_now() >= timer.expiry());
    over = true;
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  ctx.run();
  CHECK(over);
}

CONFORMANCE("destroying the context destroys waits for a date un-run") {
  machine here;
  outcome ended;
  {
    beck::io_context ctx(here.options());
    system_timer timer(ctx, 1h), never(ctx, system_time_point::max());
    timer.async_wait(note(ended));
    never.async_wait(note(ended));
    ctx.poll();
  }
  CHECK_FALSE(ended.done());
}

CONFORMANCE_ON(sim, "a date that is set forward ends waits within a second (T3)") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer timer(ctx, 1h);
  outcome ended;
  timer.async_wait(note(ended));
  ctx.poll();
  here.host().set_date(here.host().date() + 2h);
  const auto from = here.world().now();
  ctx.run();
  CHECK(ended.ok());
  CHECK(here.world().now() - from <= beck::duration(1s));
}

CONFORMANCE_ON(sim, "a date that is set back prolongs waits until it has come (T3)") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer timer(ctx, 10s);
  outcome ended;
  timer.async_wait(note(ended));
  ctx.run_for(5s);
  here.host().set_date(here.host().date() - 1h);
  const auto from = here.world().now();
  ctx.restart();
  ctx.run();
  CHECK(ended.ok());
  CHECK(here.host().date() >= timer.expiry());
  CHECK(here.world().now() - from >= beck::duration(1h));
  CHECK(here.world().now() - from <= beck::duration(1h + 6s));
}

CONFORMANCE_ON(sim, "steady timers do not notice a change of the date (T3)") {
  machine here;
  beck::io_context ctx(here.options());
  beck::steady_timer timer(ctx, 10s);
  outcome ended;
  timer.async_wait(note(ended));
  const auto from = here.world().now();
  ctx.run_for(5s);
  here.host().set_date(here.host().date() + 24h);
  ctx.restart();
  CHECK(ctx.run_for(4s) == 0);
  here.host().set_date(here.host().date() - 48h);
  ctx.restart();
  ctx.run();
  CHECK(ended.ok());
  CHECK(here.world().now() - from >= beck::duration(10s));
}

CONFORMANCE_ON(sim, "cancelled waits for dates leave nothing that wakes the context") {
  machine here;
  beck::io_context ctx(here.options());
  system_timer timer(ctx, 1h);
  timer.async_wait(beck::detached);
  ctx.poll();
  timer.cancel();
  ctx.restart();
  ctx.run();
  beck::steady_timer steady(ctx, 1h);
  steady.async_wait(beck::detached);
  const auto turns = ctx.stats().iterations;
  ctx.restart();
  ctx.run();
  CHECK(ctx.stats().iterations - turns < 10);
}

CONFORMANCE_ON(sim, "dates that are set at every look make no wait end early") {
  namespace sim_world = beck::testing::sim;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim_world::faults often = sim_world::faults::none();
    often.set(sim_world::fault::date_set, 0.5).in_every_seed();
    sim_world::world world(seed, sim_world::settings().calm().with(often));
    sim_world::host& host = world.host("h");
    beck::io_context ctx(host);
    std::vector<system_timer> timers;
    int ended = 0;
    for (int i = 0; i < 5; ++i) {
      timers.emplace_back(ctx, std::chrono::seconds(100 * i));
      const auto expiry = timers.back().expiry();
      timers.back().async_wait([&, expiry](beck::error_code ec) {
        CHECK_FALSE(ec);
        CHECK(host.date() >= expiry);
        ++ended;
      });
    }
    ctx.run();
    CHECK(ended == 5);
    CHECK(world.count(sim_world::fault::date_set) > 0);
  }
}
