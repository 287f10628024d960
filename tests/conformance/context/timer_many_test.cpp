// SPDX-License-Identifier: BSL-1.0
//
// Many timers, and timers that are armed again and again: order, cost in memory, and waits that
// meet others of their turn.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/work_guard.hpp>
#include <beck/testing/memory.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/small_random.hpp"

using namespace std::chrono_literals;
using beck::steady_timer;
using beck::test::kernel;
using beck::test::note;
using beck::test::outcome;
using beck::testing::small_random;

CONFORMANCE("many waits, some of them cancelled later, end in the order of their expiries") {
  beck::io_context ctx(context_options());
  small_random random(1);
  const steady_timer base(ctx, 5ms);
  std::vector<std::unique_ptr<steady_timer>> timers;
  std::vector<beck::time_point> ended;
  int aborted = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto expiry = base.expiry() + std::chrono::microseconds(random.below(500));
    timers.push_back(std::make_unique<steady_timer>(ctx, expiry));
    timers.back()->async_wait([&, expiry](beck::error_code ec) {
      if (ec) {
        ++aborted;
      } else {
        ended.push_back(expiry);
      }
    });
    if (i % 7 == 0) ctx.poll();  // some take their place in the heap
  }
  const std::size_t early = ended.size();  // on a slow machine some have passed already
  int cancelled = 0;
  for (std::size_t i = 0; i < timers.size(); i += 1 + random.below(4)) {
    cancelled += static_cast<int>(timers[i]->cancel());
  }
  ctx.restart();
  ctx.run();
  CHECK(aborted == cancelled);
  CHECK(ended.size() + static_cast<std::size_t>(aborted) == 2000);
  for (std::size_t i = early + 1; i < ended.size(); ++i) CHECK(ended[i - 1] <= ended[i]);
}

CONFORMANCE("a wait that is cancelled many turns after it was armed ends once, as cancelled") {
  beck::io_context ctx(context_options());
  std::vector<steady_timer> timers;
  std::vector<outcome> waits(100);
  timers.reserve(100);
  for (std::size_t i = 0; i < 100; ++i) {
    timers.emplace_back(ctx, std::chrono::hours(1 + i * 37 % 100));
    timers.back().async_wait(note(waits[i]));
    ctx.poll();
    ctx.restart();
  }
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(timers[i * 61 % 100].cancel() == 1);
    ctx.poll();
    ctx.restart();
    CHECK(waits[i * 61 % 100].aborted());
  }
}

CONFORMANCE("a repeating timer keeps its period, however late its handlers are") {
  beck::io_context ctx(context_options());
  steady_timer timer(ctx, 1ms);
  const auto first = timer.expiry();
  int ticks = 0;
  auto ticker = [&]() -> beck::task<> {
    for (; ticks < 20; ++ticks) {
      beck::ignore(co_await timer.async_wait());
      CHECK(timer.expiry() == first + std::chrono::microseconds(300) * ticks);
      timer.expires_at(timer.expiry() + 300us);
    }
  };
  beck::co_spawn(ctx, ticker, beck::detached);
  ctx.run();
  CHECK(ticks == 20);
}

CONFORMANCE("what a handler cancels in its own batch was due as well and is delivered") {
  beck::io_context ctx(context_options());
  const steady_timer base(ctx, 1ms);
  std::vector<steady_timer> timers;
  std::vector<outcome> waits(10);
  timers.reserve(10);
  for (std::size_t i = 0; i < 10; ++i) {
    timers.emplace_back(ctx, base.expiry());
    if (i == 0) {
      timers[0].async_wait([&](beck::error_code ec) {
        note{waits[0]}(ec);
        for (steady_timer& timer : timers) CHECK(timer.cancel() == 0);
      });
    } else {
      timers[i].async_wait(note(waits[i]));
    }
  }
  ctx.run();
  for (const outcome& wait : waits) CHECK(wait.ok());
}

CONFORMANCE("arming, cancelling and expiring allocate nothing once there is room") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context ctx(context_options());
  steady_timer timer(ctx);
  std::uint64_t used = 0;
  auto user = [&]() -> beck::task<> {
    for (int round = 0; round < 3; ++round) {
      const std::uint64_t before = beck::test::allocations();
      for (int i = 0; i < 200; ++i) {
        timer.expires_after(1h);
        timer.async_wait(beck::detached);
      }
      timer.cancel();
      for (int i = 0; i < 20; ++i) {
        timer.expires_after(0ns);
        beck::ignore(co_await timer.async_wait());
      }
      used = beck::test::allocations() - before;
    }
  };
  beck::co_spawn(ctx, user, beck::detached);
  ctx.run();
  CHECK(used == 0);
}

CONFORMANCE("a timer that was destroyed in a handler leaves nothing to the next one") {
  beck::io_context ctx(context_options());
  outcome first, second, date, soon, at_once;
  auto strand = beck::make_strand(ctx);
  std::optional<beck::system_timer> dated;
  steady_timer end(ctx, 5ms);
  beck::post(ctx, [&] {
    { steady_timer(ctx, 1h).async_wait(note(first)); }
    steady_timer timer(ctx);
    CHECK(timer.expiry() == beck::time_point());
    CHECK(timer.cancel() == 0);
    timer.expires_after(1h);
    timer.async_wait(note(second));
    CHECK(timer.cancel() == 1);
    CHECK(timer.cancel() == 0);
  });
  beck::post(ctx, [&] { beck::system_timer(ctx, 1h).async_wait(note(date)); });
  beck::post(ctx, [&] {
    const steady_timer timer(ctx, 1h);
    CHECK(timer.expiry() <= beck::steady_now() + 1h);
  });
  beck::post(ctx, [&] {
    const beck::system_timer timer(ctx, 1h);
    CHECK(timer.expiry() <= beck::system_now() + 1h);
    CHECK(timer.expiry() > beck::system_now());
  });
  beck::post(ctx, [&] {
    { const steady_timer other_clock(ctx); }
    dated.emplace(ctx, 0ns).async_wait(note(at_once));
    end.async_wait([&](beck::error_code) { dated.reset(); });
  });
  beck::post(ctx, [&] { steady_timer(strand, 1ms).async_wait(note(soon)); });
  beck::post(ctx, [&] {
    const steady_timer first_of_context(ctx);  // so that the next timer that is destroyed is kept
    CHECK(steady_timer(strand).get_executor() == beck::any_io_executor(strand));
    CHECK(steady_timer(ctx).get_executor() == beck::any_io_executor(ctx.get_executor()));
  });
  ctx.run();
  for (const outcome* const wait : {&first, &second, &date, &soon}) CHECK(wait->aborted());
  CHECK(at_once.ok());
}

CONFORMANCE("timers that handlers make, move and destroy are independent of one another") {
  beck::io_context ctx(context_options());
  outcome moved, other, last;
  beck::post(ctx, [&] {
    { const steady_timer gone(ctx, 1h); }
    steady_timer source(ctx, 1h);
    source.async_wait(note(moved));
    steady_timer target(std::move(source));
    source.expires_after(2h);
    source.async_wait(note(other));
    CHECK(source.cancel() == 1);
    { const steady_timer old(std::move(source)); }
    source = steady_timer(ctx, 3h);
    source.async_wait(note(last));
    CHECK(target.cancel() == 1);
    CHECK(source.cancel() == 1);
  });
  ctx.run();
  for (const outcome* const wait : {&moved, &other, &last}) CHECK(wait->aborted());
}

CONFORMANCE("the memory of timers that were destroyed is free when their context is") {
  NEEDS_ALLOCATION_FAULTS();
  const beck::testing::watched_memory memory;
  {
    beck::io_context ctx(context_options());
    beck::post(ctx, [&] {
      for (int i = 0; i < 10; ++i) {
        steady_timer first(ctx, 1h), second(ctx, 1h);
        first.async_wait(beck::detached);
      }
    });
    ctx.run();
    CHECK(memory.allocations() >= 21);  // each state, and the posted function
    CHECK(memory.bytes_in_use() == 0);
  }
  CHECK(memory.bytes_in_use() == 0);
}

CONFORMANCE("without memory for its place a wait ends with no_memory, and the others go on") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context ctx(context_options());
  steady_timer timer(ctx, 1ms);
  outcome refused, other;
  auto waiter = [&]() -> beck::task<> {
    const beck::test::allocation_fault none(1);
    const auto result = co_await timer.async_wait();
    note{refused}(result.error());
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  ctx.run();
  CHECK(refused.ended_with(beck::error::no_memory));
  timer.async_wait(note(other));
  ctx.restart();
  ctx.run();
  CHECK(other.ok());
}

CONFORMANCE("a timer that dies in the handler of its own wait leaves the others") {
  beck::io_context ctx(context_options());
  auto timer = std::make_unique<steady_timer>(ctx, 1ms);
  outcome first, second;
  timer->async_wait([&](beck::error_code ec) {
    note{first}(ec);
    timer.reset();
  });
  timer->async_wait(note(second));
  ctx.run();
  CHECK(first.ok());
  CHECK(second.ok());
}

CONFORMANCE_ON(kernel, "waits that another thread starts and cancels end once each") {
  beck::io_context ctx(context_options());
  auto work = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  std::atomic<int> ended{0}, aborted{0};
  {
    steady_timer timer(ctx);
    for (int i = 0; i < 500; ++i) {
      timer.expires_after(i % 2 == 0 ? 0ns : 1h);
      timer.async_wait([&](beck::error_code ec) {
        ended.fetch_add(1);
        if (ec) aborted.fetch_add(1);
      });
      if (i % 3 == 0) timer.cancel();
    }
  }
  work.reset();
  runner.join();
  CHECK(ended.load() == 500);
  CHECK(aborted.load() >= 250);  // those for an hour at least
}
