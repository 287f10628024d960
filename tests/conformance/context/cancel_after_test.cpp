// SPDX-License-Identifier: BSL-1.0
//
// cancel_after and cancel_at: around every token and every kind of operation; what they end, what
// they leave alone, and what they cost.
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/redirect_error.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/settle.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::cancel_after;
using beck::cancel_at;
using beck::cancellation_type;
using beck::error::operation_aborted;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_next;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

// Waits for its timer through two steps.
template <class Token>
auto async_wait_twice(beck::steady_timer& timer, Token&& token) {
  return beck::async_compose<Token, void(beck::error_code)>(
      [&timer, waits = 0](auto& self, beck::error_code ec = {}) mutable {
        if (ec || waits == 2) return self.complete(ec);
        ++waits;
        timer.async_wait(std::move(self));
      },
      token, timer);
}

}  // namespace

CONFORMANCE("cancel_after ends a callback's read with operation_aborted, and the bytes stay") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome late;
  char data[8];
  pair.a.async_read_some(beck::buffer(data), cancel_after(1ms, note(late)));
  CHECK(late.calls == 0);
  ctx.run();
  CHECK(late.aborted());
  CHECK(late.bytes == 0);
  ctx.restart();
  outcome next;
  beck::ignore(pair.b.write_some(beck::buffer("abc", 3)));
  pair.a.async_read_some(beck::buffer(data), cancel_after(10s, note(next)));
  ctx.run();
  CHECK(next.ok());
  CHECK(next.bytes == 3);
}

CONFORMANCE("a limit that is not reached keeps nothing running") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int done = 0;
  char data[8];
  for (int i = 0; i < 5; ++i) {
    beck::async_write(pair.b, beck::buffer("ab", 2), cancel_after(24h, beck::detached));
    beck::async_read(pair.a, beck::buffer(data, 2),
                     cancel_after(24h, [&](beck::error_code ec, std::size_t n) {
                       CHECK_FALSE(ec);
                       CHECK(n == 2);
                       ++done;
                     }));
    ctx.run();
    ctx.restart();
  }
  CHECK(done == 5);
}

CONFORMANCE("an awaited operation with cancel_after ends with operation_aborted") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    auto late = co_await pair.a.async_read_some(beck::buffer(data), cancel_after(1ms));
    CHECK(late.error() == operation_aborted);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1), cancel_after(10s)));
    auto next = co_await pair.a.async_read_some(beck::buffer(data), cancel_after(10s));
    CHECK_FALSE(next.error());
    CHECK(*next == 1);
    auto inert = pair.a.async_read_some(beck::buffer(data), cancel_after(1ms));
    auto moved = std::move(inert);
    late = co_await std::move(moved);
    CHECK(late.error() == operation_aborted);
  });
}

CONFORMANCE("in an awaitable a limit throws, and so it does with use_awaitable") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int thrown = 0;
  run_task(ctx, [&]() -> beck::awaitable<> {
    char data[8];
    try {
      co_await pair.a.async_read_some(beck::buffer(data), cancel_after(1ms));
    } catch (const beck::io_error& failure) {
      thrown += failure.code() == operation_aborted;
    }
    beck::ignore(pair.b.write_some(beck::buffer("ab", 2)));
    const std::size_t n =
        co_await beck::async_read(pair.a, beck::buffer(data, 2), cancel_after(10s));
    CHECK(n == 2);
  });
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    try {
      static_cast<void>(co_await pair.a.async_read_some(beck::buffer(data),
                                                        cancel_after(1ms, beck::use_awaitable)));
    } catch (const beck::io_error& failure) {
      thrown += failure.code() == operation_aborted;
    }
  });
  CHECK(thrown == 2);
}

CONFORMANCE("a limit around other adapters and inside them") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    beck::error_code ec;
    std::size_t n = co_await pair.a.async_read_some(beck::buffer(data),
                                                    cancel_after(1ms, beck::redirect_error(ec)));
    CHECK(ec == operation_aborted);
    ec = {};
    n = co_await pair.a.async_read_some(beck::buffer(data),
                                        beck::redirect_error(cancel_after(1ms), ec));
    CHECK(ec == operation_aborted);
    CHECK(n == 0);
    auto parts =
        co_await pair.a.async_read_some(beck::buffer(data), cancel_after(1ms, beck::as_tuple));
    CHECK(std::get<0>(parts) == operation_aborted);
    auto shorter =
        co_await pair.a.async_read_some(beck::buffer(data), cancel_after(24h, cancel_after(1ms)));
    CHECK(shorter.error() == operation_aborted);
  });
  outcome inside;
  outcome outside;
  char data[8];
  pair.a.async_read_some(beck::buffer(data),
                         beck::bind_executor(ctx, cancel_after(1ms, note(inside))));
  pair.a.async_read_some(
      beck::buffer(data),
      cancel_after(2ms, cancel_after(24h, beck::bind_executor(ctx, note(outside)))));
  ctx.run();
  CHECK(inside.aborted());
  CHECK(outside.aborted());
}

CONFORMANCE("a packaged operation keeps its limit for whatever token it is given") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome late;
  char data[8];
  auto inert = pair.a.async_read_some(beck::buffer(data), cancel_after(1ms));
  std::move(inert)(note(late));
  ctx.run();
  CHECK(late.aborted());
}

CONFORMANCE("cancel_after gives a future an exception, and a detached operation an end") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char data[8];
  std::future<std::size_t> late =
      pair.a.async_read_some(beck::buffer(data), cancel_after(1ms, beck::use_future));
  pair.a.async_read_some(beck::buffer(data), cancel_after(1ms, beck::detached));
  ctx.run();
  try {
    late.get();
    FAIL("a read of nothing gave something");
  } catch (const beck::io_error& failure) {
    CHECK(failure.code() == operation_aborted);
  }
}

CONFORMANCE("cancel_at with a point in time, also one that is over, and one that never comes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome over;
  outcome never;
  char data[8];
  const beck::time_point past = beck::steady_timer(ctx, -1s).expiry();
  pair.a.async_read_some(beck::buffer(data), cancel_at(past, note(over)));
  ctx.run();
  CHECK(over.aborted());
  ctx.restart();
  pair.a.async_read_some(beck::buffer(data), cancel_at(beck::time_point::max(), note(never)));
  pair.b.close();
  ctx.run();
  CHECK(never.ended_with(beck::error::eof));
  run_next(ctx, [&]() -> beck::task<> {
    beck::steady_timer timer(ctx, 24h);
    auto waited = co_await timer.async_wait(cancel_at(beck::steady_now() + 1ms));
    CHECK(waited.error() == operation_aborted);
  });
}

CONFORMANCE("the type of a limit decides whether it means a composed operation") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome some;
  outcome whole;
  outcome part;
  char data[8];
  char rest[4];
  pair.a.async_read_some(beck::buffer(data),
                         cancel_after(1ms, cancellation_type::total, note(some)));
  ctx.run();
  CHECK(some.aborted());
  ctx.restart();
  beck::ignore(pair.b.write_some(beck::buffer("abc", 3)));
  beck::async_read(pair.a, beck::buffer(rest),
                   cancel_after(1ms, cancellation_type::total, note(whole)));
  beck::steady_timer timer(ctx, 5ms);
  timer.async_wait([&](beck::error_code) {
    CHECK(whole.calls == 0);
    beck::ignore(pair.b.write_some(beck::buffer("d", 1)));
  });
  ctx.run();
  CHECK(whole.ok());
  CHECK(whole.bytes == 4);
  ctx.restart();
  beck::ignore(pair.b.write_some(beck::buffer("abc", 3)));
  beck::async_read(pair.a, beck::buffer(rest),
                   cancel_after(1ms, cancellation_type::partial, note(part)));
  ctx.run();
  CHECK(part.aborted());
  CHECK(part.bytes == 3);
}

CONFORMANCE("awaited composed operations do not hear of a total limit either") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string line;
  bool written = false;
  beck::steady_timer timer(ctx, 5ms);
  timer.async_wait([&](beck::error_code) {
    written = true;
    beck::ignore(pair.b.write_some(beck::buffer("a\n", 2)));
  });
  run_task(ctx, [&]() -> beck::task<> {
    auto got = co_await beck::async_read_until(pair.a, beck::dynamic_buffer(line), '\n',
                                               cancel_after(1ms, cancellation_type::total));
    CHECK_FALSE(got.error());
    CHECK(*got == 2);
    CHECK(written);
    auto nothing = co_await beck::async_read_until(pair.a, beck::dynamic_buffer(line), "\r\n",
                                                   cancel_after(1ms));
    CHECK(nothing.error() == operation_aborted);
  });
}

CONFORMANCE("accept, connect and timers take a limit") {
  beck::io_context ctx(context_options());
  beck::ip::tcp::acceptor acceptor(ctx, beck::ip::tcp::endpoint(beck::ip::tcp::v4(), 0));
  const beck::ip::tcp::endpoint there(beck::ip::make_address("127.0.0.1"),
                                      acceptor.local_endpoint().port());
  beck::ip::tcp::socket socket(ctx);
  beck::steady_timer timer(ctx, 24h);
  outcome accepted;
  outcome waited;
  outcome connected;
  outcome second;
  beck::ip::tcp::socket peer(ctx);
  acceptor.async_accept(peer, cancel_after(1ms, note(accepted)));
  timer.async_wait(cancel_after(1ms, note(waited)));
  ctx.run();
  CHECK(accepted.aborted());
  CHECK(waited.aborted());
  ctx.restart();
  socket.async_connect(there, cancel_after(10s, note(connected)));
  acceptor.async_accept(peer, cancel_after(10s, note(second)));
  ctx.run();
  CHECK(connected.ok());
  CHECK(second.ok());
}

CONFORMANCE("operations of users take a limit, with a handler and awaited") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 24h);
  outcome composed;
  async_wait_twice(timer, cancel_after(1ms, note(composed)));
  ctx.run();
  CHECK(composed.aborted());
  run_next(ctx, [&]() -> beck::task<> {
    auto late = co_await async_wait_twice(timer, cancel_after(1ms));
    CHECK(late.error() == operation_aborted);
    timer.expires_after(0s);
    auto soon = co_await async_wait_twice(timer, cancel_after(24h));
    CHECK_FALSE(soon.error());
    auto again = co_await async_wait_twice(timer, beck::deferred)(cancel_after(24h));
    CHECK_FALSE(again.error());
  });
}

CONFORMANCE("a spawned coroutine takes a limit") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 24h);
  const auto work = [&]() -> beck::task<int> {
    auto waited = co_await timer.async_wait();
    CHECK(waited.error() == operation_aborted);
    co_return 7;
  };
  int got = 0;
  beck::co_spawn(ctx, work, cancel_after(1ms, [&](std::exception_ptr error, int value) {
                   CHECK(error == nullptr);
                   got = value;
                 }));
  ctx.run();
  CHECK(got == 7);
}

CONFORMANCE("an operation with a limit may be started before run, and cancelled then too") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::cancellation_signal signal;
  outcome inner;
  outcome outer;
  char data[8];
  const auto slot = signal.slot();
  pair.a.async_read_some(beck::buffer(data),
                         cancel_after(24h, beck::bind_cancellation_slot(slot, note(inner))));
  signal.emit(cancellation_type::terminal);
  ctx.run();
  CHECK(inner.aborted());
  ctx.restart();
  pair.a.async_read_some(beck::buffer(data),
                         beck::bind_cancellation_slot(slot, cancel_after(24h, note(outer))));
  ctx.poll();
  signal.emit(cancellation_type::terminal);
  ctx.run();
  CHECK(outer.aborted());
  CHECK_FALSE(slot.has_handler());
}

CONFORMANCE("a strand's handler is called in the strand when the limit is over") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto strand = beck::make_strand(ctx);
  bool inside = false;
  char data[8];
  pair.a.async_read_some(
      beck::buffer(data),
      cancel_after(1ms, beck::bind_executor(strand, [&](beck::error_code ec, std::size_t) {
                     inside = strand.running_in_this_thread();
                     CHECK(ec == operation_aborted);
                   })));
  beck::steady_timer timer(ctx, 24h);
  bool waited = false;
  async_wait_twice(timer, cancel_after(1ms, beck::bind_executor(strand, [&](beck::error_code ec) {
                                         waited = strand.running_in_this_thread();
                                         CHECK(ec == operation_aborted);
                                       })));
  ctx.run();
  CHECK(inside);
  CHECK(waited);
}

CONFORMANCE_ON(beck::test::kernel, "an operation with a limit may be started by another thread") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::steady_timer timer(ctx, 24h);
  auto guard = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  char data[8];
  std::promise<beck::error_code> late;
  pair.a.async_read_some(
      beck::buffer(data),
      cancel_after(1ms, [&](beck::error_code ec, std::size_t) { late.set_value(ec); }));
  CHECK(late.get_future().get() == operation_aborted);
  std::promise<beck::error_code> waited;
  async_wait_twice(timer, cancel_after(1ms, [&](beck::error_code ec) { waited.set_value(ec); }));
  CHECK(waited.get_future().get() == operation_aborted);
  guard.reset();
  runner.join();
}

CONFORMANCE("a context may be destroyed with limits in flight") {
  outcome parked;
  outcome mailed;
  outcome composed;
  char data[8];
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    beck::steady_timer timer(ctx, 24h);
    pair.a.async_read_some(beck::buffer(data), cancel_after(24h, note(parked)));
    ctx.poll();
    async_wait_twice(timer, cancel_after(24h, note(composed)));
    pair.b.async_read_some(beck::buffer(data), cancel_after(24h, note(mailed)));
    ctx.poll();
    pair.b.async_read_some(beck::buffer(data), cancel_after(24h, note(mailed)));
  }
  CHECK(parked.calls + mailed.calls + composed.calls == 0);
}

CONFORMANCE("a limit on an executor without a clock is refused by name") {
  beck::thread_pool pool(1);
  CHECK_THROWS_AS(beck::post(pool, cancel_after(1s, [] {})), std::logic_error);
  pool.join();
}

CONFORMANCE("a limit allocates nothing beyond the handler's block") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const auto round = [&] {
    char data[8];
    outcome got;
    ctx.restart();
    pair.a.async_read_some(beck::buffer(data), cancel_after(10s, note(got)));
    pair.b.async_write_some(beck::buffer("x", 1), cancel_after(10s, beck::detached));
    ctx.run();
    CHECK(got.ok());
  };
  for (int i = 0; i < 3; ++i) round();
  const auto before = ctx.stats();
  const std::uint64_t allocated = beck::test::allocations();
  for (int i = 0; i < 10; ++i) round();
  CHECK(ctx.stats().block_misses == before.block_misses);
  if (where != beck::test::on_sim) CHECK(beck::test::allocations() == allocated);
}
