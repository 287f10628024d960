// SPDX-License-Identifier: BSL-1.0
//
// Sequences whose elements are awaited: their order, their end, and the end in the middle.
#include <atomic>
#include <beck/coro/async_generator.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::async_generator;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

async_generator<int> count_up(beck::io_context& ctx, int most,
                              [[maybe_unused]] std::shared_ptr<int> held = {}) {
  for (int i = 0; i < most; ++i) {
    if (i % 3 == 1) co_await beck::post(ctx);
    co_yield i;
  }
}

async_generator<std::string> lines_of(beck::test::stream_socket& socket) {
  std::string buffered;
  for (;;) {
    auto [ec, n] = co_await beck::async_read_until(socket, beck::dynamic_buffer(buffered), '\n');
    if (ec) co_return;
    std::string line = buffered.substr(0, n - 1);
    buffered.erase(0, n);
    co_yield std::move(line);
  }
}

async_generator<int> fail_second() {
  co_yield 1;
  throw std::runtime_error("second");
}

beck::task<> wait_long(beck::io_context& ctx) { co_await beck::test::pause(ctx, 24h); }

async_generator<int> wait_below(beck::io_context& ctx, std::shared_ptr<int> held) {
  co_yield *held;
  co_await wait_long(ctx);
  co_yield *held;
}

}  // namespace

CONFORMANCE("a generator that awaits gives its elements in order, with and without suspensions") {
  beck::io_context ctx(context_options());
  int sum = 0;
  run_task(ctx, [&]() -> beck::task<> {
    auto numbers = count_up(ctx, 10);
    int expected = 0;
    while (auto next = co_await numbers.next()) {
      CHECK(*next == expected++);
      sum += *next;
    }
    auto after = co_await numbers.next();
    CHECK_FALSE(after);
  });
  CHECK(sum == 45);
}

CONFORMANCE("lines from a socket as a sequence") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string all;
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("one\ntwo\nthree\nrest", 18)));
    pair.b.close();
    auto lines = lines_of(pair.a);
    while (auto line = co_await lines.next())
      all += *line + "," + std::to_string(line->size()) + ";";
  });
  CHECK(all == "one,3;two,3;three,5;");
}

CONFORMANCE("what a generator throws comes out of next, and it is over then") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    auto numbers = fail_second();
    auto first = co_await numbers.next();
    CHECK(*first == 1);
    std::string thrown;
    try {
      auto second = co_await numbers.next();
      CHECK_FALSE(second);
    } catch (const std::runtime_error& failure) {
      thrown = failure.what();
    }
    CHECK(thrown == "second");
    auto third = co_await numbers.next();
    CHECK_FALSE(third);
  });
}

CONFORMANCE("a generator that is destroyed in the middle frees what it holds") {
  beck::io_context ctx(context_options());
  const auto held = std::make_shared<int>(5);
  run_task(ctx, [&]() -> beck::task<> {
    {
      auto never = count_up(ctx, 3, held);
      CHECK(held.use_count() == 2);
    }
    CHECK(held.use_count() == 1);
    {
      auto numbers = count_up(ctx, 10, held);
      auto moved = std::move(numbers);
      auto first = co_await moved.next();
      CHECK(*first == 0);
      auto second = co_await moved.next();
      CHECK(*second == 1);
      CHECK(held.use_count() == 2);
    }
    CHECK(held.use_count() == 1);
  });
}

CONFORMANCE("a limit on one element ends what the generator awaits, and it may go on") {
  beck::io_context ctx(context_options());
  const auto held = std::make_shared<int>(5);
  run_task(ctx, [&]() -> beck::task<> {
    auto numbers = wait_below(ctx, held);
    auto first = co_await beck::timeout(numbers.next(), 24h);
    CHECK(*first == 5);
    auto second = co_await beck::timeout(numbers.next(), 1ms);
    CHECK(*second == 5);
    auto end = co_await numbers.next();
    CHECK_FALSE(end);
  });
  CHECK(held.use_count() == 1);
}

CONFORMANCE("a context is destroyed while a generator awaits something below it") {
  const auto held = std::make_shared<int>(5);
  {
    beck::io_context ctx(context_options());
    const auto body = [&]() -> beck::task<> {
      auto numbers = wait_below(ctx, held);
      while (auto next = co_await numbers.next()) CHECK(*next == 5);
    };
    beck::co_spawn(ctx, body, beck::detached);
    ctx.poll();
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

CONFORMANCE("a million elements that are there at once do not deepen the stack") {
  beck::io_context ctx(context_options());
  long sum = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto make = []() -> async_generator<const int> {
      for (int i = 0; i < 1'000'000; ++i) co_yield i;
    };
    auto numbers = make();
    while (auto next = co_await numbers.next()) sum += *next;
  });
  CHECK(sum == 499999500000);
}

CONFORMANCE_ON(beck::test::kernel, "a generator on a thread pool") {
  beck::thread_pool pool(4);
  std::atomic<long> sum = 0;
  const auto body = [&]() -> beck::task<> {
    const auto make = [&]() -> async_generator<int> {
      for (int i = 0; i < 1000; ++i) {
        co_await beck::post(pool);
        co_yield i;
      }
    };
    auto numbers = make();
    while (auto next = co_await numbers.next()) sum += *next;
  };
  for (int i = 0; i < 4; ++i) beck::co_spawn(pool, body, beck::detached);
  pool.join();
  CHECK(sum == 4 * 499500);
}
