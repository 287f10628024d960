// SPDX-License-Identifier: BSL-1.0
//
// A stop ends a coroutine that only ever waits for its turn on an executor, and one that goes to
// another executor: these awaits tell of it as all others do.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/via.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <chrono>
#include <ostream>
#include <utility>

#include "support/context_options.hpp"

using namespace std::chrono_literals;
using beck::task;
using beck::error::operation_aborted;

namespace {

constexpr int rounds_max = 10'000;  // a loop that nothing ends

/// The error that ends a loop of `step()`; none if it goes on for ever.
template <class Step>
beck::error_code end_of_loop(beck::io_context& ctx, Step step) {
  beck::stop_source source;
  beck::error_code ended;
  int rounds = 0;
  const auto loop = [&]() -> task<> {
    for (; rounds < rounds_max; ++rounds) {
      if (rounds == 3) source.request_stop();
      co_await step();
    }
  };
  const auto work = [&]() -> task<> {
    try {
      const auto stopped = co_await beck::with_stop(source.get_token(), loop());
      ended = stopped.error();
    } catch (const beck::io_error& error) {
      ended = error.code();
    }
  };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.restart();
  ctx.run();
  CHECK(rounds >= 3);
  return ended;
}

}  // namespace

CONFORMANCE("a stop ends a loop of awaits of post, defer and dispatch") {
  beck::io_context ctx(context_options());
  CHECK(end_of_loop(ctx, [&] { return beck::post(ctx); }) == operation_aborted);
  CHECK(end_of_loop(ctx, [&] { return beck::defer(ctx); }) == operation_aborted);
  CHECK(end_of_loop(ctx, [&] { return beck::dispatch(ctx); }) == operation_aborted);
  CHECK(end_of_loop(ctx, [&] { return beck::post(ctx, beck::deferred); }) == operation_aborted);
  CHECK(end_of_loop(ctx, [&] { return beck::post(ctx, beck::use_awaitable); }) ==
        operation_aborted);
  auto strand = beck::make_strand(ctx);
  CHECK(end_of_loop(ctx, [&] { return beck::post(strand); }) == operation_aborted);
  CHECK(end_of_loop(ctx, [&] { return beck::dispatch(strand); }) == operation_aborted);
}

CONFORMANCE("a stop ends a loop of awaits of tasks that run elsewhere") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  int ran = 0;
  const auto nothing = [&]() -> task<> {
    ++ran;
    co_return;
  };
  CHECK(end_of_loop(ctx, [&] { return nothing().via(strand); }) == operation_aborted);
  CHECK(ran < 10);
}

CONFORMANCE("a time limit ends a loop of turns with its own error") {
  beck::io_context ctx(context_options());
  beck::error_code ended;
  const auto work = [&]() -> task<> {
    const auto loop = [&]() -> task<> {
      beck::steady_timer timer(ctx, 1h);
      beck::ignore(co_await timer.async_wait());  // until the limit
      for (int i = 0; i < rounds_max; ++i) co_await beck::post(ctx);
    };
    const auto limited = co_await beck::timeout(loop(), 1ms);
    ended = limited.error();
  };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.run();
  CHECK(ended == beck::error::timeout);
}

CONFORMANCE("a turn that came before the stop is a turn, and a shielded one always comes") {
  beck::io_context ctx(context_options());
  beck::stop_source source;
  int turns = 0;
  const auto work = [&]() -> task<> {
    const auto inner = [&]() -> task<> {
      beck::post(ctx, [&] { source.request_stop(); });
      co_await beck::post(ctx);  // the stop is asked for meanwhile, and there it is
      ++turns;
      beck::steady_timer timer(ctx, 1h);
      beck::ignore(co_await timer.async_wait());  // ended by the stop
      co_await beck::shield(beck::post(ctx));
      ++turns;
      co_await beck::post(ctx);
      ++turns;
    };
    const auto stopped = co_await beck::with_stop(source.get_token(), inner());
    CHECK(stopped.error() == operation_aborted);
  };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.run();
  CHECK(turns == 2);
}

CONFORMANCE("a request through a slot before the start keeps a coroutine from starting") {
  beck::io_context ctx(context_options());
  beck::cancellation_signal signal;
  bool started = false;
  std::exception_ptr told;
  const auto work = [&]() -> task<> {
    started = true;
    co_return;
  };
  beck::co_spawn(ctx, work, beck::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                   told = e;
                 }));
  signal.emit(beck::cancellation_type::terminal);
  ctx.run();
  CHECK_FALSE(started);
  CHECK(told != nullptr);
}
