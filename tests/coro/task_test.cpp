// SPDX-License-Identifier: BSL-1.0
// task<T> and awaitable<T>: values, references, exceptions, when a frame lives, and how the two
// styles mix.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/dies.hpp"
#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/stream_pair.hpp"

using beck::awaitable;
using beck::task;
using beck::test::allocation_fault;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

task<int> value(int n) { co_return n; }
task<std::string> text(std::string s) { co_return s + "!"; }
task<std::unique_ptr<int>> move_only() { co_return std::make_unique<int>(3); }
task<int&> reference(int& n) { co_return n; }
task<> fails() {
  throw std::runtime_error("inside");
  co_return;
}
task<int> later(beck::io_context& context, int n) {
  co_await beck::post(context);
  co_return n;
}

// Neither default-constructible nor assignable.
struct rigid {
  explicit rigid(int n) : number(n) {}
  rigid(rigid&&) = default;
  rigid& operator=(rigid&&) = delete;
  const int number;
};
task<rigid> make_rigid(int n) { co_return rigid(n); }

struct counted {
  explicit counted(int& live) : live_(live) { ++live_; }
  counted(const counted& other) : live_(other.live_) { ++live_; }
  counted& operator=(const counted&) = delete;
  ~counted() { --live_; }
  int& live_;
};

}  // namespace

TEST_CASE("a task gives its value to the one who awaits it") {
  beck::io_context context;
  run_task(context, [&]() -> task<> {
    const int n = co_await value(4);
    CHECK(n == 4);
    const std::string s = co_await text("a string that is too long for its own buffer");
    CHECK(s == "a string that is too long for its own buffer!");
    const auto p = co_await move_only();
    CHECK(*p == 3);
    const rigid r = co_await make_rigid(5);
    CHECK(r.number == 5);
    const int m = co_await later(context, 6);
    CHECK(m == 6);
  });
}

TEST_CASE("a task of a reference gives the object itself") {
  beck::io_context context;
  int object = 1;
  run_task(context, [&]() -> task<> {
    int& n = co_await reference(object);
    CHECK(&n == &object);
    n = 2;
  });
  CHECK(object == 2);
}

TEST_CASE("an exception passes through every task that does not catch it") {
  beck::io_context context;
  std::string message;
  const auto middle = []() -> task<> { co_await fails(); };
  run_task(context, [&]() -> task<> {
    try {
      co_await middle();
    } catch (const std::runtime_error& e) {
      message = e.what();
    }
  });
  CHECK(message == "inside");
}

TEST_CASE("an exception after a suspension reaches the parent too") {
  beck::io_context context;
  bool caught = false;
  const auto child = [&]() -> task<int> {
    co_await beck::post(context);
    throw std::runtime_error("later");
  };
  run_task(context, [&]() -> task<> {
    try {
      co_await child();
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  CHECK(caught);
}

TEST_CASE("a task starts when it is awaited, and one that is never awaited never runs") {
  beck::io_context context;
  int started = 0;
  int live = 0;
  const auto body = [&](counted) -> task<> {
    ++started;
    co_return;
  };
  {
    task<> never = body(counted(live));
    CHECK(live == 1);  // the parameter lives in the frame
    task<> moved = std::move(never);
    CHECK_FALSE(never.valid());
    CHECK(moved.valid());
  }
  CHECK(started == 0);
  CHECK(live == 0);
  run_task(context, [&]() -> task<> {
    task<> waiting = body(counted(live));
    CHECK(started == 0);
    co_await std::move(waiting);
    CHECK(started == 1);
  });
  CHECK(live == 0);
}

TEST_CASE("the frame of an awaited task is gone when its expression ends") {
  beck::io_context context;
  int live = 0;
  const auto child = [&](counted) -> task<int> {
    co_await beck::post(context);
    co_return live;
  };
  run_task(context, [&]() -> task<> {
    for (int i = 0; i < 3; ++i) {
      const int seen = co_await child(counted(live));
      CHECK(seen >= 1);
      CHECK(live == 0);
    }
  });
}

TEST_CASE("tasks and awaitables await each other") {
  beck::io_context context;
  const auto thrower = [](int n) -> awaitable<int> {
    const int m = co_await value(n);
    co_return m + 1;
  };
  const auto outer = [&](int n) -> task<int> {
    const int m = co_await thrower(n);
    co_return m * 2;
  };
  int result = 0;
  run_task(context, [&]() -> awaitable<> { result = co_await outer(4); });
  CHECK(result == 10);
}

TEST_CASE("an operation is a result in a task, and a value or an exception in an awaitable") {
  beck::io_context context;
  stream_pair pair(context);
  const auto read_in_task = [&]() -> task<beck::error_code> {
    char data[4];
    const auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(data));
    CHECK(n == 0);
    co_return ec;
  };
  std::string code;
  run_task(context, [&]() -> awaitable<> {
    const std::size_t sent = co_await pair.a.async_write_some(beck::buffer("ab", 2));
    CHECK(sent == 2);
    char data[4];
    const std::size_t n = co_await pair.b.async_read_some(beck::buffer(data));
    CHECK(n == 2);
    pair.a.close();
    const beck::error_code ec = co_await read_in_task();
    CHECK(ec == beck::error::eof);
    try {
      co_await pair.b.async_read_some(beck::buffer(data));
    } catch (const beck::io_error& e) {
      code = e.code() == beck::error::eof ? "eof" : "other";
    }
  });
  CHECK(code == "eof");
}

TEST_CASE("every task of a tree sees the executor of its root") {
  beck::io_context context;
  const beck::any_io_executor expected(context.get_executor());
  const auto leaf = [&]() -> task<> {
    const auto executor = co_await beck::this_coro::executor;
    CHECK(executor == expected);
    co_await beck::post(context);
    const auto again = co_await beck::this_coro::executor;
    CHECK(again == expected);
  };
  run_task(context, [&]() -> task<> {
    co_await leaf();
    const auto executor = co_await beck::this_coro::executor;
    CHECK(executor == expected);
  });
}

TEST_CASE("asking for the executor does not suspend") {
  beck::io_context context;
  run_task(context, [&]() -> task<> {
    const auto before = context.stats().delivered;
    for (int i = 0; i < 1000; ++i) {
      const auto executor = co_await beck::this_coro::executor;
      CHECK(executor);
    }
    CHECK(context.stats().delivered == before);
  });
}

TEST_CASE(
    "a child that finishes without suspending costs no queue hop and stays within the depth (K3)") {
  beck::io_context context;
  run_task(context, [&]() -> task<> {
    const auto before = context.stats().delivered;
    long sum = 0;
    for (int i = 0; i < 10'000; ++i) sum += co_await value(1);
    CHECK(sum == 10'000);
    CHECK(context.stats().delivered == before);
  });
  CHECK(context.stats().depth_max <= beck::detail::runner::depth_max);
}

TEST_CASE("without memory for a child's frame the parent gets the exception and goes on (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  const auto large_child = [](bool& ran) -> task<> {
    char data[beck::test::unrecycled_bytes];
    data[0] = 1;
    co_await std::suspend_never();
    ran = data[0] == 1;
  };
  bool refused = false;
  bool ran = false;
  run_task(context, [&]() -> task<> {
    {
      const allocation_fault fault(1);
      try {
        co_await large_child(ran);
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    }
    CHECK_FALSE(ran);
    co_await large_child(ran);
  });
  CHECK(refused);
  CHECK(ran);
}

TEST_CASE("awaiting a task twice, or outside of every executor, ends the program with a message") {
  const std::string twice = dies_with([] {
    beck::io_context context;
    beck::co_spawn(
        context,
        []() -> task<> {
          task<int> once = value(1);
          co_await once;
          co_await once;
        },
        beck::detached);
    context.run();
  });
  CHECK(twice.find("awaited twice") != std::string::npos);
}
