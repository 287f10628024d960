// SPDX-License-Identifier: BSL-1.0
// Awaiting what async_initiate starts: where the result may come from (inside the initiation,
// another thread, never) and what co_await makes of each signature.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/run/deferred.hpp>
#include <beck/run/work_guard.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/allocations.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using beck::test::allocation_fault;
using beck::test::allocations;
using beck::test::manual_queue;
using beck::test::run_task;

namespace {

// An operation that calls its handler inside its initiation.
template <class Signature, class Token, class... Results>
auto give_at_once(Token&& token, Results... results) {
  return beck::async_initiate<Token, Signature>(
      [... kept = std::move(results)](auto handler) mutable {
        std::move(handler)(std::move(kept)...);
      },
      token);
}

// The operation that `initiation` starts.
template <class Signature, class Initiation>
auto start(Initiation&& initiation) {
  return beck::async_initiate<const beck::deferred_t, Signature>(
      std::forward<Initiation>(initiation), beck::deferred);
}

// An operation whose handler is kept where the test can reach it.
using int_handler = beck::detail::result_handler<beck::error_code, int>;
template <class Token = beck::deferred_t>
auto keep_handler(std::optional<int_handler>& place, Token&& token = {}) {
  return beck::async_initiate<Token, void(beck::error_code, int)>(
      [&place](auto handler) { place.emplace(std::move(handler)); }, token);
}

}  // namespace

TEST_CASE("a result that comes inside the initiation continues the coroutine without suspension") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    co_await beck::post(context);
    const auto before = context.stats();
    for (int i = 0; i < 50; ++i) {
      const auto [ec, n] =
          co_await give_at_once<void(beck::error_code, int)>(beck::deferred, beck::error_code(), i);
      CHECK_FALSE(ec);
      CHECK(n == i);
    }
    CHECK(context.stats().delivered == before.delivered);
    CHECK(context.stats().inline_completions == before.inline_completions + 50);
  });
}

TEST_CASE("a loop around operations that finish inside their initiation lets others run (K4)") {
  beck::io_context context;
  bool stop = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        while (!stop) co_await give_at_once<void(int)>(beck::deferred, 1);
      },
      beck::detached);
  beck::post(context, [&] { stop = true; });
  context.run();
  CHECK(stop);
}

TEST_CASE("a handler that is called on another thread resumes the coroutine on its own") {
  beck::io_context context;
  std::optional<int_handler> place;
  std::thread worker;
  int result = 0;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        auto waiting = keep_handler(place);
        const auto [ec, n] = co_await std::move(waiting);
        CHECK(context.get_executor().running_in_this_thread());
        result = n;
      },
      beck::detached);
  context.poll();
  worker = std::thread([&] { std::move (*place)(beck::error_code(), 3); });
  context.run();  // the coroutine that waits is outstanding work
  worker.join();
  CHECK(result == 3);
}

TEST_CASE(
    "a handler that is called on another thread while its initiation still runs loses nothing") {
  beck::io_context context;
  int sum = 0;
  run_task(context, [&]() -> beck::task<> {
    for (int i = 0; i < 200; ++i) {
      std::thread worker;
      const int n = co_await start<void(int)>([&worker](auto handler) {
        worker = std::thread([handler = std::move(handler)]() mutable { std::move(handler)(1); });
      });
      worker.join();
      CHECK(context.get_executor().running_in_this_thread());
      sum += n;
    }
  });
  CHECK(sum == 200);
}

TEST_CASE("a handler that is dropped leaves the coroutine suspended and is no work any more") {
  beck::io_context context;
  auto witness = std::make_shared<int>(0);
  bool resumed = false;
  {
    beck::io_context inner;
    std::optional<int_handler> place;
    beck::co_spawn(
        inner,
        [&, witness]() -> beck::task<> {
          beck::ignore(co_await keep_handler(place));
          resumed = true;
        },
        beck::detached);
    inner.poll();
    CHECK_FALSE(inner.stopped());
    place.reset();
    inner.run();
    CHECK(inner.stopped());
    CHECK(witness.use_count() == 2);
  }
  CHECK_FALSE(resumed);
  CHECK(witness.use_count() == 1);
}

TEST_CASE("a handler that is dropped inside its initiation does the same") {
  auto witness = std::make_shared<int>(0);
  int dropped = 0;
  bool resumed = false;
  {
    beck::io_context inner;
    beck::co_spawn(
        inner,
        [&, witness]() -> beck::task<> {
          co_await start<void()>([&](auto) { ++dropped; });
          resumed = true;
        },
        beck::detached);
    inner.run();
    CHECK(dropped == 1);
    CHECK(inner.stopped());
    CHECK(witness.use_count() == 2);
  }
  CHECK_FALSE(resumed);
  CHECK(witness.use_count() == 1);
}

TEST_CASE("a handler that outlives its coroutine does nothing when it is called") {
  std::optional<int_handler> called_late;
  std::optional<int_handler> dropped_late;
  {
    beck::io_context context;
    beck::co_spawn(
        context, [&]() -> beck::task<> { beck::ignore(co_await keep_handler(called_late)); },
        beck::detached);
    beck::co_spawn(
        context, [&]() -> beck::task<> { beck::ignore(co_await keep_handler(dropped_late)); },
        beck::detached);
    context.poll();
  }
  int_handler moved(std::move(*called_late));
  CHECK_FALSE(moved.get_executor());
  std::move(moved)(beck::error_code(), 1);
  dropped_late.reset();
}

TEST_CASE("an exception of the initiation goes to the coroutine and leaves no work behind") {
  beck::io_context context;
  bool caught = false;
  run_task(context, [&]() -> beck::task<> {
    try {
      co_await start<void()>([](auto) { throw std::runtime_error("no"); });
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  CHECK(caught);
}

TEST_CASE("each signature has its own result in a task") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    co_await give_at_once<void()>(beck::deferred);
    const int one = co_await give_at_once<void(int)>(beck::deferred, 1);
    CHECK(one == 1);
    const std::pair<int, char> two = co_await give_at_once<void(int, char)>(beck::deferred, 1, 'c');
    CHECK(two == std::pair(1, 'c'));
    const beck::io_result<> plain =
        co_await give_at_once<void(beck::error_code)>(beck::deferred, beck::error_code());
    CHECK(plain);
    const beck::io_result<int, char> full =
        co_await give_at_once<void(beck::error_code, int, char)>(
            beck::deferred, beck::error_code(beck::error::eof), 1, 'c');
    CHECK(full.error() == beck::error::eof);
    CHECK(full.first_ == 1);
    const int kept = co_await give_at_once<void(std::exception_ptr, int)>(beck::deferred,
                                                                          std::exception_ptr(), 4);
    CHECK(kept == 4);
    bool caught = false;
    try {
      co_await give_at_once<void(std::exception_ptr)>(beck::deferred, std::make_exception_ptr(7));
    } catch (int n) {
      caught = n == 7;
    }
    CHECK(caught);
  });
}

TEST_CASE("a move-only result passes through deferred") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    const auto p =
        co_await give_at_once<void(std::unique_ptr<int>)>(beck::deferred, std::make_unique<int>(3));
    CHECK(*p == 3);
  });
}

TEST_CASE("use_awaitable gives the value of a user's operation or throws beck::io_error") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    const int n = co_await give_at_once<void(beck::error_code, int)>(beck::use_awaitable,
                                                                     beck::error_code(), 5);
    CHECK(n == 5);
    bool caught = false;
    try {
      co_await give_at_once<void(beck::error_code)>(beck::use_awaitable,
                                                    beck::error_code(beck::error::eof));
    } catch (const beck::io_error& e) {
      caught = e.code() == beck::error::eof;
    }
    CHECK(caught);
  });
}

TEST_CASE("an awaitable gives the value of a user's operation or throws, without a token") {
  beck::io_context context;
  bool caught = false;
  run_task(context, [&]() -> beck::awaitable<> {
    const int n =
        co_await give_at_once<void(beck::error_code, int)>(beck::deferred, beck::error_code(), 5);
    CHECK(n == 5);
    try {
      co_await give_at_once<void(beck::error_code)>(beck::deferred,
                                                    beck::error_code(beck::error::eof));
    } catch (const beck::io_error&) {
      caught = true;
    }
  });
  CHECK(caught);
}

TEST_CASE("a deferred operation is inert and takes another token later") {
  beck::io_context context;
  int started = 0;
  int calls = 0;
  auto operation = beck::async_initiate<const beck::deferred_t, void(int)>(
      [&](auto handler) {
        ++started;
        beck::post(context, [handler = std::move(handler)]() mutable { std::move(handler)(1); });
      },
      beck::deferred);
  static_assert(beck::async_operation<decltype(operation)>);
  CHECK(started == 0);
  auto again = std::move(operation)(beck::deferred);
  CHECK(started == 0);
  std::move(again)([&](int n) { calls += n; });
  CHECK(started == 1);
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("awaiting what a user's operation posts needs only the memory of that post") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    std::uint64_t memory = 0;
    std::uint64_t misses = 0;
    for (int i = 0; i < 100; ++i) {
      if (i == 10) {
        memory = allocations();
        misses = beck::detail::block_misses();
      }
      co_await start<void()>([&context](auto handler) {
        beck::post(context, [handler = std::move(handler)]() mutable { std::move(handler)(); });
      });
    }
    CHECK(beck::detail::block_misses() == misses);
    if (misses != 0) CHECK(allocations() == memory);  // a build that recycles
  });
}

TEST_CASE("a coroutine on a user's executor resumes there") {
  manual_queue queue;
  beck::io_context context;
  bool over = false;
  beck::co_spawn(
      queue.executor(),
      [&]() -> beck::task<> {
        co_await start<void()>([&](auto handler) { beck::post(context, std::move(handler)); });
        over = true;
      },
      beck::detached);
  CHECK(queue.run() == 1);
  CHECK(queue.work() != 0);
  context.run();
  CHECK_FALSE(over);
  while (queue.run() != 0) continue;
  CHECK(over);
  CHECK(queue.work() == 0);
}
