// SPDX-License-Identifier: BSL-1.0
//
// io_context::options::busy_poll: a loop that looks for work before it sleeps, only where that
// pays, and never past a deadline. What it does not change is covered by all other cases.
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <thread>

#include "io/loop/run_end.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

CONFORMANCE("a loop does not look before it sleeps unless it is asked to") {
  beck::io_context ctx(context_options());
  run_task(ctx, beck::test::pause(ctx, 1ms));
  CHECK(ctx.stats().spins == 0);
  CHECK(ctx.stats().spin_hits == 0);
}

CONFORMANCE("looking that finds nothing is given up for more and more waits") {
  beck::io_context ctx(context_options({.busy_poll = 1us}));
  auto work = [&]() -> beck::task<> {
    for (int i = 0; i < 100; ++i) co_await beck::test::pause(ctx, 200us);
  };
  run_task(ctx, work);
  if (where == beck::test::on_sim) {  // its clock moves only when a loop waits
    CHECK(ctx.stats().spins == 0);
  } else {
    CHECK(ctx.stats().spins >= 1);
    CHECK(ctx.stats().spins <= 50);
  }
}

CONFORMANCE_ON(kernel, "a loop that looks finds what another thread posts, without being woken") {
  beck::io_context ctx(context_options({.busy_poll = 10s}));
  auto guard = beck::make_work_guard(ctx);
  int posted = 0;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      beck::post(ctx, [&] { ++posted; });
      std::this_thread::yield();
    }
    beck::post(ctx, [&] { guard.reset(); });
  });
  ctx.run();
  other.join();
  CHECK(posted == 100);
  CHECK(ctx.stats().spin_hits == ctx.stats().spins);
  CHECK(ctx.stats().wakeups == 0);
}

CONFORMANCE_ON(kernel, "a loop that looks finds what a socket receives") {
  beck::io_context ctx(context_options({.busy_poll = 10s}));
  beck::io_context far(context_options());
  stream_socket a(far), b(ctx);
  {
    stream_pair pair(ctx);
    a.assign(beck::local::stream_protocol(), pair.a.release());
    b = std::move(pair.b);
  }
  auto answer = [](stream_socket& socket) -> beck::task<> {
    char byte[1];
    for (int i = 0; i < 100; ++i) {
      CHECK_FALSE((co_await beck::async_read(socket, beck::buffer(byte))).error());
      CHECK_FALSE((co_await beck::async_write(socket, beck::buffer(byte))).error());
    }
  };
  auto ask = [](stream_socket& socket) -> beck::task<> {
    char byte[1] = {'x'};
    for (int i = 0; i < 100; ++i) {
      CHECK_FALSE((co_await beck::async_write(socket, beck::buffer(byte))).error());
      CHECK_FALSE((co_await beck::async_read(socket, beck::buffer(byte))).error());
    }
  };
  beck::co_spawn(far, answer(a), beck::detached);
  beck::co_spawn(ctx, ask(b), beck::detached);
  std::thread other([&] { far.run(); });
  ctx.run();
  other.join();
  CHECK(ctx.stats().spin_hits == ctx.stats().spins);
}

CONFORMANCE("a loop that looks keeps its timers and its time limits") {
  beck::io_context ctx(context_options({.busy_poll = 10s}));
  bool expired = false;
  beck::steady_timer timer(ctx, 2ms);
  timer.async_wait([&](beck::error_code ec) { expired = !ec; });
  ctx.run();
  CHECK(expired);
  ctx.restart();
  auto guard = beck::make_work_guard(ctx);
  CHECK(ctx.run_for(2ms) == 0);
}

TEST_CASE("a miss doubles how many waits are not worth looking, and a hit forgets that") {
  beck::detail::busy_poll poll(1000);
  CHECK(poll.is_worth_it());
  unsigned expected = 1;
  for (int misses = 0; misses < 10; ++misses) {
    poll.missed();
    unsigned skipped = 0;
    while (!poll.is_worth_it()) ++skipped;
    CHECK(skipped == expected);
    if (expected < beck::detail::busy_poll::skips_max) expected *= 2;
  }
  poll.hit();
  CHECK(poll.is_worth_it());
  poll.missed();
  CHECK_FALSE(poll.is_worth_it());
  CHECK(poll.is_worth_it());
  beck::detail::busy_poll never(0);
  CHECK_FALSE(never.is_worth_it());
}
