// SPDX-License-Identifier: BSL-1.0
//
// basic_waitable_timer in Asio's form: clocks of <chrono>, and clocks of a program that are slow or
// set by hand.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/interop/basic_waitable_timer.hpp>
#include <beck/interop/default_token.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <type_traits>
#include <utility>

#include <sys/time.h>

#include "support/child.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::error_code;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
using beck::test::run_until;

namespace {

using steady = beck::basic_waitable_timer<std::chrono::steady_clock>;
using dated = beck::basic_waitable_timer<std::chrono::system_clock>;

// Runs at half the speed of the context's steady clock.
struct slow_clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  static time_point now() {
    return time_point(std::chrono::microseconds(beck::steady_now().nanoseconds() / 2000));
  }
};
using slow_timer = beck::basic_waitable_timer<slow_clock>;

// Stands still, however long the test is delayed.
struct standing_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<standing_clock>;
  static time_point now() { return time_point(1s); }
};
using standing_timer = beck::basic_waitable_timer<standing_clock>;

// Set by the test, and looked at in each turn of the loop.
struct manual_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<manual_clock>;
  static time_point now() { return at; }
  static inline time_point at{};
};
struct impatient {
  static manual_clock::duration to_wait_duration(const manual_clock::duration&) { return 0s; }
  static manual_clock::duration to_wait_duration(const manual_clock::time_point&) {
    ++looks;
    return 0s;
  }
  static inline int looks = 0;
};
using manual_timer = beck::basic_waitable_timer<manual_clock, impatient>;

// Stands still, and counts its readings.
struct hourly_clock {
  using duration = std::chrono::hours;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<hourly_clock>;
  static time_point now() {
    looks = looks + 1;
    return time_point(1h);
  }
  static inline volatile int looks = 0;
};
using hourly_timer = beck::basic_waitable_timer<hourly_clock>;

// Lets the timer look at its clock several times.
void turn(beck::io_context& context, int before) {
  run_until(context, [&] { return impatient::looks > before + 3; });
}

}  // namespace

CONFORMANCE("timers of the clocks of <chrono> have their points in time") {
  beck::io_context ctx(context_options());
  static_assert(std::is_base_of_v<beck::steady_timer, steady>);
  static_assert(std::is_same_v<decltype(std::declval<steady&>().expiry()),
                               std::chrono::steady_clock::time_point>);
  static_assert(std::is_same_v<steady::duration, std::chrono::steady_clock::duration>);
  const auto there = static_cast<std::chrono::steady_clock::time_point>(beck::steady_now());
  steady timer(ctx, there + 1h);
  CHECK(timer.expiry() == there + 1h);
  outcome first;
  timer.async_wait(note(first));
  CHECK(timer.expires_at(timer.expiry() - 2h) == 1);
  outcome second;
  timer.async_wait(note(second));
  dated date(ctx.get_executor(), std::chrono::system_clock::time_point());
  outcome third;
  date.async_wait(note(third));
  ctx.run();
  CHECK(first.aborted());
  CHECK(second.ok());
  CHECK(third.ok());
  CHECK(date.expiry() == std::chrono::system_clock::time_point());
}

CONFORMANCE("a wait on a slow clock ends when that clock shows the expiry, not before") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    co_await beck::post(ctx);
    slow_timer timer(ctx, 4ms);
    const auto begin = beck::steady_now();
    CHECK(timer.expiry() > slow_clock::now());
    const beck::io_result<> waited = co_await timer.async_wait();
    CHECK_FALSE(waited.error());
    CHECK(slow_clock::now() >= timer.expiry());
    CHECK(beck::steady_now() - begin >= beck::duration(7'900'000));
    timer.expires_after(slow_timer::duration::max());
    CHECK(timer.expiry() == slow_timer::time_point::max());
    const beck::io_result<> late = co_await beck::timeout(timer.async_wait(), 1ms);
    CHECK(late.error() == beck::error::timeout);
    timer.expires_after(slow_timer::duration::min());
    const beck::io_result<> past = co_await timer.async_wait();
    CHECK_FALSE(past.error());
  });
}

CONFORMANCE("a timer looks at a clock that is set by hand as often as its traits say") {
  beck::io_context ctx(context_options());
  manual_clock::at = manual_clock::time_point(100s);
  manual_timer timer(ctx, 5s);
  CHECK(timer.expiry() == manual_clock::time_point(105s));
  outcome waited;
  timer.async_wait(note(waited));
  turn(ctx, impatient::looks);
  CHECK(waited.calls == 0);
  manual_clock::at += 5s;
  CHECK(run_until(ctx, waited));
  CHECK(waited.ok());
  timer.wait();  // has expired
}

CONFORMANCE("waits on a clock of the program are cancelled wherever they stand") {
  beck::io_context ctx(context_options());
  manual_clock::at = manual_clock::time_point(100s);
  outcome one;
  outcome two;
  SUBCASE("by cancel, whether they wait or are about to look at the clock") {
    manual_timer timer(ctx, 5s);
    timer.async_wait(note(one));
    turn(ctx, impatient::looks);
    timer.cancel();
    CHECK(run_until(ctx, one));
    CHECK(one.aborted());
    timer.async_wait(note(two));
    turn(ctx, impatient::looks);
    timer.expires_after(0s);
    CHECK(run_until(ctx, two));
    CHECK(two.aborted());
  }
  SUBCASE("by cancel, between the end of a wait of the steady clock and the look") {
    bool cancelled = false;
    // Both expire in one batch, and this one is called first.
    beck::steady_timer before(ctx, 1ms);
    standing_timer timer(ctx, 1ms);
    before.async_wait([&](error_code) {
      timer.cancel();
      cancelled = true;
    });
    timer.async_wait(note(one));
    ctx.run();
    CHECK(cancelled);
    CHECK(one.aborted());
    one = outcome();
    timer.expires_after(0s);
    timer.async_wait(note(one));
    ctx.restart();
    ctx.run();
    CHECK(one.ok());
  }
  SUBCASE("by the destructor, but not by a move") {
    std::optional<manual_timer> timer(std::in_place, ctx, 5s);
    timer->async_wait(note(one));
    manual_timer moved(std::move(*timer));
    timer->async_wait(note(two));  // as new: it has expired
    CHECK(run_until(ctx, two));
    CHECK(two.ok());
    timer.reset();
    turn(ctx, impatient::looks);
    CHECK(one.calls == 0);
    CHECK(moved.expiry() == manual_clock::time_point(105s));
    moved = manual_timer(ctx);
    CHECK(run_until(ctx, one));
    CHECK(one.aborted());
  }
}

CONFORMANCE("timers of every clock can have a default token") {
  beck::io_context ctx(context_options());
  using throwing = beck::use_awaitable_t<>;
  run_task(ctx, [&]() -> beck::task<> {
    throwing::as_default_on_t<steady> a(ctx, 0s);
    co_await a.async_wait();
    auto b = throwing::as_default_on(slow_timer(ctx, 0s));
    co_await b.async_wait();
    static_assert(std::is_void_v<decltype(b.async_wait(beck::detached))>);
    auto c = throwing::as_default_on(dated(ctx, 0s));
    co_await c.async_wait();
    bool thrown = false;
    b.expires_after(1h);
    try {
      co_await beck::timeout(b.async_wait(), 1ms);
    } catch (const beck::io_error& e) {
      thrown = e.code() == beck::error::timeout;
    }
    CHECK(thrown);
  });
}

TEST_CASE("wait blocks the thread until the clock shows the expiry") {
  beck::io_context ctx;
  steady one(ctx, 2ms);
  one.wait();
  CHECK(std::chrono::steady_clock::now() >= one.expiry());
  slow_timer two(ctx, 2ms);
  error_code ec = beck::error::eof;
  two.wait(ec);
  CHECK_FALSE(ec);
  CHECK(slow_clock::now() >= two.expiry());
  dated three(ctx, 1ms);
  three.wait();
  CHECK(std::chrono::system_clock::now() >= three.expiry());
}

TEST_CASE("wait sleeps, however far away the expiry is and however long the clock's unit") {
  // The alarm ends the sleep, and the process: the clock has been looked at for the expiry, which
  // never comes, and for the time until then.
  const auto end = beck::test::run_child([](int) {
    ::signal(SIGALRM, [](int) { ::_exit(hourly_clock::looks <= 2 ? 0 : 1); });
    const itimerval soon{{0, 0}, {0, 20'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    beck::io_context ctx;
    hourly_timer(ctx, hourly_clock::time_point::max()).wait();
  });
  CHECK(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 0);
}

CONFORMANCE("an expiry may be given as an atomic") {
  beck::io_context ctx(context_options());
  const std::atomic<std::chrono::steady_clock::duration> after{1h};
  beck::basic_waitable_timer<std::chrono::steady_clock> timer(ctx);
  CHECK(timer.expires_after(after) == 0);
  beck::basic_waitable_timer<std::chrono::steady_clock> soon(ctx, 1min);
  CHECK(timer.expiry() > soon.expiry());
}

TEST_CASE("the default traits saturate") {
  struct early_clock : slow_clock {
    using time_point = std::chrono::time_point<early_clock, duration>;
    static time_point now() { return time_point(duration(-1000)); }
  };
  struct late_clock : slow_clock {
    using time_point = std::chrono::time_point<late_clock, duration>;
    static time_point now() { return time_point(duration(1000)); }
  };
  using early = beck::wait_traits<early_clock>;
  using late = beck::wait_traits<late_clock>;
  using duration = slow_clock::duration;
  CHECK(early::to_wait_duration(early_clock::time_point::max()) == duration::max());
  CHECK(early::to_wait_duration(early_clock::time_point::min()) == duration::min() + 1000us);
  CHECK(late::to_wait_duration(late_clock::time_point::min()) == duration::min());
  CHECK(late::to_wait_duration(late_clock::time_point(duration(1500))) == duration(500));
  CHECK(late::to_wait_duration(duration(7)) == duration(7));
}
