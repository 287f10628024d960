// SPDX-License-Identifier: BSL-1.0
//
// The life of signal sets: moved, destroyed, outlived by their context.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/signal_set.hpp>
#include <csignal>
#include <ostream>
#include <utility>

#include "support/handlers.hpp"
#include "support/machine.hpp"
#include "support/signal_receiver.hpp"

using beck::signal_set;
using beck::test::machine;
using beck::test::receiver;

CONFORMANCE("destroying a set ends its waits with operation_aborted") {
  machine here;
  beck::io_context ctx(here.options());
  receiver got;
  {
    signal_set set(ctx, SIGUSR1);
    got.wait(set);
    got.wait(set);
  }
  beck::post(ctx, [&] {
    signal_set inside(ctx, SIGUSR2);
    got.wait(inside);
  });
  CHECK(ctx.run() == 4);
  CHECK(got.aborted == 3);
}

CONFORMANCE("a set can be destroyed while a signal is on its way to it") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set other(ctx, SIGUSR1);
  receiver got;
  got.wait(other);
  {
    signal_set set(ctx, SIGUSR1);
    here.raise(SIGUSR1);
  }
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR1});
}

CONFORMANCE("a set without signals can be waited for, cancelled and destroyed") {
  machine here;
  beck::io_context ctx(here.options());
  receiver got;
  {
    signal_set set(ctx);
    got.wait(set);
    CHECK(ctx.poll() == 0);
    set.cancel();
    ctx.run();
    CHECK(got.aborted == 1);
    got.wait(set);
  }
  ctx.restart();
  ctx.run();
  CHECK(got.aborted == 2);
}

CONFORMANCE("moving a set moves its waits and what it has kept") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set source(ctx, SIGUSR1, SIGUSR2);
  here.raise(SIGUSR1);
  signal_set target(std::move(source));
  receiver got;
  got.wait(target);
  ctx.run();
  CHECK(got.numbers == std::vector{SIGUSR1});
  got.wait(target);
  ctx.restart();
  ctx.poll();
  signal_set last(std::move(target));
  here.raise(SIGUSR2);
  ctx.run();
  CHECK(got.numbers == std::vector{SIGUSR1, SIGUSR2});
}

CONFORMANCE("assigning to a set ends the waits of the one that was there") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set old(ctx, SIGUSR1), other(ctx, SIGUSR2);
  receiver of_old, of_other;
  of_old.wait(old);
  of_other.wait(other);
  old = std::move(other);
  auto& same = old;
  old = std::move(same);  // to itself: nothing happens
  ctx.poll();
  CHECK(of_old.aborted == 1);
  here.raise(SIGUSR2);
  ctx.run();
  CHECK(of_other.numbers == std::vector{SIGUSR2});
}

CONFORMANCE("a moved-from set is as a new one: it holds nothing, and takes signals again") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set source(ctx, SIGUSR1);
  const signal_set target(std::move(source));
  CHECK(source.get_executor() == ctx.get_executor());
  source.remove(SIGUSR1);  // the other one's stays
  source.add(SIGUSR2);
  receiver of_source;
  of_source.wait(source);
  here.raise(SIGUSR1);
  ctx.poll();
  CHECK(of_source.numbers.empty());
  here.raise(SIGUSR2);
  ctx.run();
  CHECK(of_source.numbers == std::vector{SIGUSR2});
}

CONFORMANCE("only a wait keeps run going, not a set") {
  machine here;
  beck::io_context ctx(here.options());
  signal_set set(ctx, SIGUSR1);
  CHECK(ctx.run() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("destroying the context destroys the handlers of signal waits un-run") {
  machine here;
  beck::test::handler_life life;
  {
    beck::io_context ctx(here.options());
    signal_set set(ctx, SIGUSR1), idle(ctx, SIGUSR1);
    auto waiter = [&]() -> beck::task<> {
      signal_set inside(ctx, SIGUSR2);
      beck::ignore(co_await inside.async_wait());
      CHECK(false);
    };
    beck::co_spawn(ctx, waiter, beck::detached);
    ctx.poll();
    set.async_wait(beck::test::tracked(life, [](beck::error_code, int) {}));
    here.raise(SIGUSR1);
  }
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
}

CONFORMANCE("a set's executor is its context's, and a foreign one is refused") {
  machine here;
  beck::io_context ctx(here.options());
  const signal_set set(ctx);
  CHECK(set.get_executor() == beck::any_io_executor(ctx.get_executor()));
  CHECK_THROWS_AS(signal_set{beck::any_io_executor()}, beck::io_error);
}
