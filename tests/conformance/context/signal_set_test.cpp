// SPDX-License-Identifier: BSL-1.0
//
// signal_set: who gets which signal, and what becomes of those that nobody waits for.
#include <unistd.h>
#include <algorithm>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <vector>

#include "support/machine.hpp"
#include "support/outcome.hpp"
#include "support/signal_receiver.hpp"

using namespace std::chrono_literals;
using beck::signal_info;
using beck::signal_set;
using beck::test::machine;
using beck::test::queued;
using beck::test::receiver;

CONFORMANCE("a set gives the number of a signal that it holds") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  receiver got;
  got.wait(set);
  here.raise(SIGUSR1);
  CHECK(got.numbers.empty());  // not inside the raise
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR1});
}

CONFORMANCE("a signal that arrives before the wait is kept for it") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  here.raise(SIGUSR1);
  receiver got;
  CHECK(ctx.run() == 0);
  got.wait(set);
  CHECK(got.numbers.empty());
  ctx.restart();
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR1});
}

CONFORMANCE("a coroutine waits for one signal after the other") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1, SIGUSR2);
  std::vector<int> seen;
  auto waiter = [&]() -> beck::task<> {
    for (int i = 0; i < 3; ++i) {
      const auto number = co_await set.async_wait();
      CHECK(number);
      seen.push_back(number.value());
      if (i == 0) here.raise(SIGUSR2);
      if (i == 1) here.raise(SIGUSR1);
    }
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  here.raise(SIGUSR1);
  ctx.run();
  CHECK(seen == std::vector{SIGUSR1, SIGUSR2, SIGUSR1});
}

CONFORMANCE("each wait takes one of the signals that were kept, oldest first") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1, SIGUSR2, queued(1));
  for (const int number : {SIGUSR2, SIGUSR1, queued(1), SIGUSR2}) here.raise(number);
  receiver got;
  for (int i = 0; i < 4; ++i) {
    got.wait(set);
    ctx.restart();
    CHECK(ctx.run() == 1);
  }
  CHECK(got.numbers == std::vector{SIGUSR2, SIGUSR1, queued(1), SIGUSR2});
}

CONFORMANCE("one signal ends all waits of a set that are pending") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  receiver got;
  for (int i = 0; i < 3; ++i) got.wait(set);
  ctx.poll();
  here.raise(SIGUSR1);
  CHECK(ctx.run() == 3);
  CHECK(got.numbers == std::vector{SIGUSR1, SIGUSR1, SIGUSR1});
}

CONFORMANCE("every set that holds a signal gets it") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set first(ctx, SIGUSR1), second(ctx, SIGUSR1, SIGUSR2), third(ctx, SIGUSR2);
  receiver a, b, c;
  a.wait(first);
  b.wait(second);
  c.wait(third);
  here.raise(SIGUSR1);
  CHECK(ctx.poll() == 2);
  CHECK(a.numbers == std::vector{SIGUSR1});
  CHECK(b.numbers == std::vector{SIGUSR1});
  CHECK(c.numbers.empty());
  here.raise(SIGUSR2);
  ctx.run();
  CHECK(c.numbers == std::vector{SIGUSR2});
}

CONFORMANCE("sets of several contexts get the same signal") {
  machine here;
  beck::io_context one(here.options()), two(here.options()), three(here.options());
  signal_set in_one(one, SIGUSR1), in_two(two, SIGUSR1), in_three(three, SIGUSR2);
  receiver a, b, c;
  a.wait(in_one);
  b.wait(in_two);
  c.wait(in_three);
  here.raise(SIGUSR1);
  CHECK(one.run() == 1);
  CHECK(two.run() == 1);
  CHECK(three.poll() == 0);
  CHECK(a.numbers == std::vector{SIGUSR1});
  CHECK(b.numbers == std::vector{SIGUSR1});
  CHECK(c.numbers.empty());
}

CONFORMANCE("more sets than one page of the table holds get the same signal") {
  machine here;
  beck::io_context ctx(here.options());
  std::vector<std::unique_ptr<signal_set>> sets;
  receiver got;
  for (int i = 0; i < 150; ++i) {
    sets.push_back(std::make_unique<signal_set>(ctx, SIGUSR1));
    got.wait(*sets.back());
  }
  here.raise(SIGUSR1);
  CHECK(ctx.run() == 150);
  CHECK(got.numbers.size() == 150);
}

CONFORMANCE("queued signals keep their order and their values") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, queued(2));
  for (int i = 0; i < 20; ++i) here.raise(queued(2), 100 + i);
  receiver got;
  for (int i = 0; i < 20; ++i) got.wait_info(set);
  CHECK(ctx.run() == 20);
  REQUIRE(got.values.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(got.values[static_cast<std::size_t>(i)] == 100 + i);
}

CONFORMANCE("a coroutine gets all that is known of a signal") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, queued(3));
  signal_info info;
  auto waiter = [&]() -> beck::task<> {
    const auto got = co_await set.async_wait_info();
    CHECK(got);
    info = got.value();
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  here.raise(queued(3), -7);
  ctx.run();
  CHECK(info.number == queued(3));
  CHECK(info.value == -7);
  CHECK(info.code < 0);
  if (beck::test::current_backend() != beck::test::on_sim) CHECK(info.sender == getpid());
}

CONFORMANCE("what finds a set full is counted: 512 values are kept, no signal is lost") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, queued(1), queued(2));
  for (int i = 0; i < 600; ++i) here.raise(queued(1 + i % 2), 1 + i);
  receiver got;
  for (int i = 0; i < 600; ++i) {
    got.wait_info(set);
    ctx.restart();
    ctx.run();
  }
  REQUIRE(got.values.size() == 600);
  for (int i = 0; i < 600; ++i) {
    CHECK(got.values[static_cast<std::size_t>(i)] == (i < 512 ? 1 + i : 0));
  }
  CHECK(std::count(got.numbers.begin(), got.numbers.end(), queued(1)) == 300);
  got.wait(set);
  CHECK(ctx.poll() == 0);
}

CONFORMANCE("cancel ends the waits of a set and loses no signal") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  receiver got;
  got.wait(set);
  got.wait(set);
  ctx.poll();
  set.cancel();
  set.cancel();
  CHECK(got.aborted == 0);
  ctx.restart();
  CHECK(ctx.run() == 2);
  CHECK(got.aborted == 2);
  here.raise(SIGUSR1);
  set.cancel();
  got.wait(set);
  ctx.restart();
  ctx.run();
  CHECK(got.numbers == std::vector{SIGUSR1});
}

CONFORMANCE("a signal that has arrived wins against a cancel that comes later") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  receiver got;
  got.wait(set);
  ctx.poll();
  here.raise(SIGUSR1);
  set.cancel();
  ctx.run();
  CHECK(got.aborted == 0);
  CHECK(got.numbers == std::vector{SIGUSR1});
}

CONFORMANCE("removing a signal forgets those that were kept, and no others") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1, SIGUSR2);
  signal_set guard(ctx, SIGUSR1, SIGUSR2);  // what set no longer holds must end nobody
  for (const int number : {SIGUSR1, SIGUSR2, SIGUSR1}) here.raise(number);
  set.remove(SIGUSR1);
  here.raise(SIGUSR1);
  receiver got;
  got.wait(set);
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR2});
  got.wait(set);
  ctx.restart();
  CHECK(ctx.poll() == 0);
}

CONFORMANCE("a signal that is removed and added again begins anew") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, queued(1));
  for (int i = 0; i < 600; ++i) here.raise(queued(1), 1);
  set.remove(queued(1));
  set.add(queued(1));
  here.raise(queued(1), 2);
  receiver got;
  got.wait_info(set);
  ctx.run();
  CHECK(got.values == std::vector{2});
  got.wait_info(set);
  ctx.restart();
  CHECK(ctx.poll() == 0);
}

CONFORMANCE("a wait goes on when its set is cleared, and ends with what is added later") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  receiver got;
  got.wait(set);
  set.clear();
  set.clear();
  CHECK(ctx.poll() == 0);
  set.add(SIGUSR2);
  here.raise(SIGUSR2);
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR2});
}

CONFORMANCE("adding twice is adding once, and so is removing") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  set.add(SIGUSR1);
  here.raise(SIGUSR1);
  receiver got;
  got.wait(set);
  ctx.run();
  CHECK(got.numbers == std::vector{SIGUSR1});
  got.wait(set);
  ctx.restart();
  CHECK(ctx.poll() == 0);
  set.remove(SIGUSR1);
  set.remove(SIGUSR1);
  set.remove(SIGUSR2);
}

CONFORMANCE("numbers that are no signals, and signals that nobody can catch, are refused") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx);
  for (const int number : {0, -1, 65, 1000, SIGKILL, SIGSTOP}) {
    beck::error_code ec;
    set.add(number, ec);
    CHECK(ec == beck::error::invalid_argument);
    CHECK_THROWS_AS(set.add(number), beck::io_error);
    CHECK_THROWS_AS(signal_set(ctx, SIGUSR1, number), beck::io_error);
  }
  beck::error_code ec;
  set.remove(0, ec);
  CHECK(ec == beck::error::invalid_argument);
  CHECK_THROWS_AS(set.remove(65), beck::io_error);
}

CONFORMANCE("a time limit ends a wait for a signal, and the set goes on") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  std::vector<beck::error_code> results;
  auto waiter = [&]() -> beck::task<> {
    const auto late = co_await beck::timeout(set.async_wait(), 1ms);
    results.push_back(late.error());
    here.raise(SIGUSR1);
    const auto in_time = co_await beck::timeout(set.async_wait(), 1h);
    results.push_back(in_time.error());
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  ctx.run();
  REQUIRE(results.size() == 2);
  CHECK(results[0] == beck::error::timeout);
  CHECK_FALSE(results[1]);
}

CONFORMANCE("a signal ends a wait in the kernel for something far away") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  beck::steady_timer far(ctx, 1h), soon(ctx, 1ms);
  receiver got;
  beck::test::outcome far_ended;
  far.async_wait(beck::test::note(far_ended));
  soon.async_wait([&](beck::error_code) { here.raise(SIGUSR1); });
  set.async_wait([&](beck::error_code, int number) {
    CHECK(number == SIGUSR1);
    far.cancel();
  });
  CHECK(ctx.run() == 3);
  CHECK(far_ended.aborted());
}
