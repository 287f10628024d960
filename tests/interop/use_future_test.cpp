// SPDX-License-Identifier: BSL-1.0
// use_future: every signature, errors as exceptions, and futures that nobody keeps the promise of.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/op.hpp>
#include <beck/run/redirect_error.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/handlers.hpp"
#include "support/stream_pair.hpp"

using beck::use_future;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::stream_pair;
using namespace std::chrono_literals;

namespace {

template <class Signature, class... Results>
auto give(beck::io_context& context, Results... results) {
  return beck::async_initiate<const beck::use_future_t, Signature>(
      [&context](auto handler, auto... kept) {
        beck::post(context, [handler = std::move(handler), ... given = std::move(kept)]() mutable {
          std::move(handler)(std::move(given)...);
        });
      },
      use_future, std::move(results)...);
}

template <class T>
bool is_ready(std::future<T>& future) {
  return future.wait_for(0s) == std::future_status::ready;
}

class answer : public beck::op<answer, void(int)> {
 public:
  bool ready() { return finish(42); }
  void initiate(handler) {}
};

}  // namespace

TEST_CASE("each signature has its future") {
  beck::io_context context;
  std::future<void> nothing = give<void()>(context);
  std::future<int> value = give<void(int)>(context, 1);
  std::future<void> no_error = give<void(beck::error_code)>(context, beck::error_code());
  std::future<int> good = give<void(beck::error_code, int)>(context, beck::error_code(), 2);
  std::future<void> no_exception = give<void(std::exception_ptr)>(context, std::exception_ptr());
  std::future<std::unique_ptr<int>> move_only =
      give<void(std::exception_ptr, std::unique_ptr<int>)>(context, std::exception_ptr(),
                                                           std::make_unique<int>(3));
  std::future<std::tuple<int, char>> two = give<void(int, char)>(context, 4, 'c');
  std::future<std::tuple<int, int, int>> three =
      give<void(beck::error_code, int, int, int)>(context, beck::error_code(), 1, 2, 3);
  CHECK_FALSE(is_ready(nothing));
  context.run();
  nothing.get();
  CHECK(value.get() == 1);
  no_error.get();
  CHECK(good.get() == 2);
  no_exception.get();
  CHECK(*move_only.get() == 3);
  CHECK(two.get() == std::tuple(4, 'c'));
  CHECK(three.get() == std::tuple(1, 2, 3));
}

TEST_CASE("an error becomes beck::io_error, with the bytes that were moved") {
  beck::io_context context;
  stream_pair pair(context);
  char data[8];
  std::future<std::size_t> read = beck::async_read(pair.b, beck::buffer(data), use_future);
  pair.a.write_some(beck::buffer("abc", 3));
  pair.a.close();
  context.run();
  try {
    read.get();
    FAIL("no exception");
  } catch (const beck::io_error& e) {
    CHECK(e.code() == beck::error::eof);
    CHECK(e.transferred() == 3);
  }
  auto failed = give<void(beck::error_code)>(context, beck::error_code(beck::error::eof));
  context.restart();
  context.run();
  CHECK_THROWS_AS(failed.get(), std::system_error);
}

TEST_CASE("an exception becomes the future's") {
  beck::io_context context;
  auto failed = give<void(std::exception_ptr, int)>(
      context, std::make_exception_ptr(std::runtime_error("told so")), 0);
  context.run();
  CHECK_THROWS_WITH_AS(failed.get(), "told so", std::runtime_error);
}

TEST_CASE("an error behind an exception is a value, as an awaited one is") {
  beck::io_context context;
  std::future<beck::error_code> error = beck::co_spawn(
      context, []() -> beck::awaitable<beck::error_code> { co_return beck::error::eof; },
      use_future);
  beck::error_code awaited;
  std::future<void> outer = beck::co_spawn(
      context,
      [&]() -> beck::awaitable<void> {
        awaited = co_await beck::co_spawn(
            context, []() -> beck::awaitable<beck::error_code> { co_return beck::error::eof; },
            beck::use_awaitable);
      },
      use_future);
  context.run();
  CHECK(error.get() == beck::error::eof);
  outer.get();
  CHECK(awaited == beck::error::eof);
}

TEST_CASE("a handler that is destroyed un-run breaks its promise") {
  std::future<void> waiting;
  std::future<void> queued;
  {
    beck::io_context context;
    beck::steady_timer timer(context, 1h);
    waiting = timer.async_wait(use_future);
    queued = beck::post(context, use_future);
  }
  for (auto* future : {&waiting, &queued}) {
    REQUIRE(is_ready(*future));
    try {
      future->get();
      FAIL("no exception");
    } catch (const std::future_error& e) {
      CHECK(e.code() == std::future_errc::broken_promise);
    }
  }
}

TEST_CASE("a future works with tasks, posts, composed operations and operations of users") {
  beck::io_context context;
  beck::steady_timer timer(context);
  auto spawned =
      beck::co_spawn(context, []() -> beck::task<std::string> { co_return "text"; }, use_future);
  auto composed = beck::async_compose<const beck::use_future_t, void(beck::error_code)>(
      [&timer, first = true](auto& self, beck::error_code ec = {}) mutable {
        if (std::exchange(first, false)) {
          timer.async_wait(std::move(self));
        } else {
          self.complete(ec);
        }
      },
      use_future, timer);
  std::future<int> own;
  beck::post(context, [&] { own = answer()(use_future); });
  context.run();
  CHECK(spawned.get() == "text");
  composed.get();
  CHECK(own.get() == 42);
}

TEST_CASE("a future may be waited for on another thread than the one that runs the context") {
  beck::io_context context;
  stream_pair pair(context);
  auto guard = beck::make_work_guard(context);
  std::thread runner([&] { context.run(); });
  char data[8];
  for (int i = 0; i < 100; ++i) {
    auto read = pair.b.async_read_some(beck::buffer(data), use_future);
    CHECK(beck::async_write(pair.a, beck::buffer("abc", 3), use_future).get() == 3);
    CHECK(read.get() == 3);
    CHECK(beck::co_spawn(
              context, [](int n) -> beck::task<int> { co_return n; }(i), use_future)
              .get() == i);
  }
  guard.reset();
  runner.join();
}

TEST_CASE("use_future goes into the adapters") {
  beck::io_context context;
  allocator_counts counts;
  beck::steady_timer timer(context, beck::duration(0));
  beck::error_code ec = beck::error::eof;
  std::future<void> redirected = timer.async_wait(beck::redirect_error(use_future, ec));
  std::future<void> counted =
      timer.async_wait(beck::bind_allocator(counting_allocator<>(counts), use_future));
  std::future<void> bound = timer.async_wait(beck::bind_executor(context, use_future));
  context.run();
  redirected.get();
  counted.get();
  bound.get();
  CHECK_FALSE(ec);
  CHECK(counts.allocations == 1);
}

TEST_CASE("use_future(function) gives the future of the function's result, or of its exception") {
  beck::io_context context;
  beck::steady_timer timer(context, beck::duration(0));
  std::future<int> value =
      timer.async_wait(use_future([](beck::error_code ec) { return ec ? 1 : 2; }));
  std::future<void> nothing = beck::post(context, use_future([] {}));
  std::future<int> thrown =
      beck::post(context, use_future([]() -> int { throw std::runtime_error("refused"); }));
  context.run();
  CHECK(value.get() == 2);
  nothing.get();
  CHECK_THROWS_AS(thrown.get(), std::runtime_error);
}

TEST_CASE("use_future(function): a destroyed context breaks the promise") {
  std::future<int> lost;
  {
    beck::io_context context;
    lost = beck::post(context, use_future([] { return 1; }));
  }
  CHECK_THROWS_AS(lost.get(), std::future_error);
}
