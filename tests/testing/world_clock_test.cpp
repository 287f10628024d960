// SPDX-License-Identifier: BSL-1.0
// Whatever runs on a context of a world reads the world's clock and its host's date, never the
// machine's: on contexts of one thread and of several virtual ones.
#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/run/post.hpp>
#include <beck/run/strand.hpp>
#include <beck/testing/sim.hpp>

#include <cstdint>
#include <optional>
#include <utility>

using namespace beck;
using namespace beck::detail;
namespace sim = beck::testing::sim;

namespace {

// No clock of a machine shows these.
constexpr std::int64_t year_ns = 365LL * 86'400 * 1'000'000'000;
const time_point strange_start(duration(200 * year_ns));
const system_time_point strange_date(duration(250 * year_ns));

struct clocks {
  explicit clocks(sim::world& w) : world(w), host(w.host("a")) {}

  void look() {
    ++looks;
    CHECK(steady_now() == world.now());
    CHECK(system_now() == host.date());
  }

  sim::world& world;
  sim::host& host;
  int looks = 0;
};

/// Looks when it is destroyed, unless it was moved from.
struct last_look {
  explicit last_look(clocks& all) : at(&all) {}
  last_look(last_look&& other) noexcept : at(std::exchange(other.at, nullptr)) {}
  ~last_look() {
    if (at != nullptr) at->look();
  }
  clocks* at;
};

task<> look_around(clocks& all, any_io_executor executor) {
  const last_look at_the_end(all);
  all.look();
  steady_timer timer(executor, duration(1'000'000));
  beck::ignore(co_await timer.async_wait());
  all.look();
  timer.expires_after(duration(year_ns));
  beck::ignore(co_await timeout(timer.async_wait(), duration(1'000'000)));
  all.look();
  co_await post(executor);
  all.look();
}

task<> wait_for_ever(clocks& all, any_io_executor executor) {
  const last_look at_the_end(all);
  steady_timer timer(executor, time_point::max());
  beck::ignore(co_await timer.async_wait());
}

}  // namespace

TEST_CASE("handlers, coroutines and destructors in a world see its clock and its host's date") {
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    sim::world world(3, sim::settings().start(strange_start));
    clocks all(world);
    all.host.set_date(strange_date);
    std::optional<io_context> ctx(std::in_place, all.host.options({.threads = threads}));
    auto strand = make_strand(*ctx);
    post(*ctx, [&] { all.look(); });
    post(strand, [&] { all.look(); });
    co_spawn(*ctx, look_around(all, ctx->get_executor()), detached);
    co_spawn(strand, look_around(all, strand), detached);
    std::optional<steady_timer> timer(std::in_place, *ctx, duration(5'000));
    timer->async_wait([&](error_code) { all.look(); });
    ctx->run();
    CHECK(all.looks == 13);
    CHECK(world.now() > strange_start);

    // What is destroyed with its context.
    ctx->restart();
    co_spawn(*ctx, wait_for_ever(all, ctx->get_executor()), detached);
    ctx->poll();
    post(*ctx, [kept = last_look(all)] {});
    timer->expires_after(duration(year_ns));
    timer->async_wait([kept = last_look(all)](error_code) {});
    timer.reset();
    ctx.reset();
    CHECK(all.looks == 16);
  }
}

TEST_CASE("a date that somebody sets is what programs on that host see from then on") {
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    sim::world world(1);
    sim::host& host = world.host("a");
    io_context ctx(host.options({.threads = threads}));
    system_time_point before, after;
    post(ctx, [&] {
      before = system_now();
      host.set_date(strange_date);
      after = system_now();
    });
    ctx.run();
    CHECK(before < strange_date);
    CHECK(after == strange_date);
    CHECK(host.date() - strange_date < duration(1'000'000));
  }
}
