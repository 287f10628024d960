// SPDX-License-Identifier: BSL-1.0
//
// Asio's cancellation slots: one operation among several ends, with what it has; composed
// operations, spawned coroutines and those that await them pass the request on.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::bind_cancellation_slot;
using beck::cancellation_signal;
using beck::cancellation_type;
using beck::error::operation_aborted;
using beck::test::run_task;
using beck::test::stream_pair;

CONFORMANCE("a signal cancels its own operation and no other") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  cancellation_signal signal;
  std::optional<beck::error_code> read;
  std::optional<beck::error_code> waited;
  char data[4];
  beck::steady_timer timer(ctx, 2ms);
  pair.a.async_read_some(
      beck::buffer(data),
      bind_cancellation_slot(signal.slot(), [&](beck::error_code ec, std::size_t n) {
        read = ec;
        CHECK(n == 0);
      }));
  timer.async_wait([&](beck::error_code ec) { waited = ec; });
  CHECK(signal.slot().has_handler());
  beck::post(ctx, [&] { signal.emit(cancellation_type::total); });
  ctx.run();
  CHECK(read == operation_aborted);
  REQUIRE(waited.has_value());
  CHECK_FALSE(*waited);
  CHECK_FALSE(signal.slot().has_handler());
}

CONFORMANCE("a request before, during and after the operation") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  cancellation_signal signal;
  signal.emit(cancellation_type::all);  // nobody listens
  int completions = 0;
  char data[4];
  const auto read = [&](std::optional<beck::error_code> expected) {
    pair.a.async_read_some(
        beck::buffer(data),
        bind_cancellation_slot(signal.slot(), [&, expected](beck::error_code ec, std::size_t) {
          CHECK(ec == *expected);
          ++completions;
          signal.emit(cancellation_type::all);  // inside its own handler: nobody listens any more
        }));
  };
  read(operation_aborted);
  signal.emit(cancellation_type::partial);  // nobody runs the context: this thread may
  signal.emit(cancellation_type::partial);
  ctx.run();
  ctx.restart();
  beck::ignore(pair.b.write_some(beck::buffer("x", 1)));
  read(beck::error_code());
  ctx.run();
  signal.emit(cancellation_type::all);
  CHECK(completions == 2);
}

CONFORMANCE("a composed write ignores a total request and reports what a partial one leaves") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  cancellation_signal signal;
  const std::string text = beck::test::pattern(8 << 20);
  std::optional<beck::error_code> ended;
  std::size_t sent = 0;
  beck::async_write(pair.b, beck::buffer(text),
                    bind_cancellation_slot(signal.slot(), [&](beck::error_code ec, std::size_t n) {
                      ended = ec;
                      sent = n;
                    }));
  ctx.poll();
  signal.emit(cancellation_type::total);
  ctx.poll();
  CHECK_FALSE(ended.has_value());
  signal.emit(cancellation_type::partial);
  ctx.run();
  CHECK(ended == operation_aborted);
  CHECK(sent > 0);
  CHECK(sent < text.size());
}

CONFORMANCE("waits on one timer can be cancelled one by one") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 3ms);
  cancellation_signal signals[3];
  std::string ended;
  for (int i = 0; i < 3; ++i) {
    timer.async_wait(bind_cancellation_slot(signals[i].slot(), [&, i](beck::error_code ec) {
      ended += ec ? '-' : '+';
      ended += static_cast<char>('0' + i);
    }));
  }
  beck::post(ctx, [&] { signals[1].emit(cancellation_type::terminal); });
  ctx.run();
  CHECK(ended == "-1+0+2");
}

CONFORMANCE("a user's handler in a slot is called with the type, replaced and cleared") {
  cancellation_signal signal;
  auto counted = std::make_shared<int>(0);
  signal.slot().assign([counted](cancellation_type type) {
    *counted += type == cancellation_type::partial ? 1 : 100;
  });
  CHECK(counted.use_count() == 2);
  signal.emit(cancellation_type::partial);
  signal.emit(cancellation_type::partial);
  CHECK(*counted == 2);
  signal.slot().assign([](cancellation_type) {});
  CHECK(counted.use_count() == 1);
  signal.slot().clear();
  CHECK_FALSE(signal.slot().has_handler());
  CHECK_FALSE(beck::cancellation_slot().is_connected());
}

CONFORMANCE("a cancellation_state passes on what its filter lets through, and remembers it") {
  cancellation_signal outer;
  beck::cancellation_state state(outer.slot());
  std::optional<cancellation_type> seen;
  state.slot().assign([&](cancellation_type type) { seen = type; });
  outer.emit(cancellation_type::total);
  CHECK_FALSE(seen.has_value());
  CHECK(!state.cancelled());
  outer.emit(cancellation_type::all);
  CHECK(seen == cancellation_type::terminal);
  CHECK(state.cancelled() == cancellation_type::terminal);
  state.clear();
  CHECK(!state.cancelled());
  CHECK_FALSE(beck::cancellation_state().slot().is_connected());
}

CONFORMANCE("a terminal request stops a spawned coroutine with all that it awaits") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  cancellation_signal signal;
  bool finished = false;
  const auto work = [&]() -> beck::task<int> {
    char data[4];
    auto got = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK(got.error() == operation_aborted);
    auto again = co_await beck::steady_timer(ctx, 1h).async_wait();
    CHECK(again.error() == operation_aborted);
    co_return 4;
  };
  co_spawn(ctx, work,
           bind_cancellation_slot(signal.slot(), [&](std::exception_ptr error, int value) {
             CHECK(error == nullptr);
             CHECK(value == 4);
             finished = true;
           }));
  beck::post(ctx, [&] {
    signal.emit(cancellation_type::total);  // not what a coroutine can promise
    beck::post(ctx, [&] { signal.emit(cancellation_type::terminal); });
  });
  ctx.run();
  CHECK(finished);
  CHECK_FALSE(signal.slot().has_handler());
}

CONFORMANCE("a time limit reaches an operation that a user composed of others") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char data[2];
  int steps = 0;
  const auto read_twice = [&](auto&& token) {
    return beck::async_compose<decltype(token), void(beck::error_code, std::size_t)>(
        [&, step = 0](auto& self, beck::error_code ec = {}, std::size_t n = 0) mutable {
          ++steps;
          if (step++ == 2 || ec) return self.complete(ec, n);
          pair.a.async_read_some(beck::buffer(data), std::move(self));
        },
        token, pair.a);
  };
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(pair.b.write_some(beck::buffer("xy", 2)));
    auto late = co_await beck::timeout(read_twice(beck::deferred), 2ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(steps == 3);
  });
}

CONFORMANCE("a coroutine that awaits a spawned one takes it along when it is stopped") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  bool inner_ended = false;
  const auto inner = [&]() -> beck::task<int> {
    char data[4];
    auto got = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK(got.error() == operation_aborted);
    inner_ended = true;
    co_return 1;
  };
  run_task(ctx, [&]() -> beck::task<> {
    const auto outer = [&]() -> beck::task<> {
      const int value = co_await co_spawn(ctx, inner, beck::deferred);
      CHECK(value == 1);
    };
    auto late = co_await beck::timeout(outer(), 2ms);
    CHECK(inner_ended);
    static_cast<void>(late);
  });
}
