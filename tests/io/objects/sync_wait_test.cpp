// SPDX-License-Identifier: BSL-1.0
// sync_wait: from plain code into a task and back, on a private context or on somebody else's.
#include <doctest/doctest.h>
#include <beck/coro/this_coro.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/dies.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using beck::sync_wait;
using beck::task;
using namespace std::chrono_literals;

namespace {

task<int> after_a_timer(int n) {
  const auto executor = co_await beck::this_coro::executor;
  beck::steady_timer timer(executor, 1us);
  beck::ignore(co_await timer.async_wait());
  co_return n;
}
task<int&> reference(int& n) { co_return n; }
task<> fails() {
  throw std::runtime_error("inside");
  co_return;
}
task<> never() { co_await std::suspend_always(); }

// A context that another thread runs.
class running_context {
 public:
  ~running_context() {
    guard_.reset();
    thread_.join();
  }
  beck::io_context context;

 private:
  beck::executor_work_guard<beck::io_context::executor_type> guard_{context.get_executor()};
  std::thread thread_{[this] { context.run(); }};
};

}  // namespace

TEST_CASE("sync_wait gives what the task gives: values, references, what can only be moved") {
  CHECK(sync_wait(after_a_timer(4)) == 4);
  int object = 0;
  CHECK(&sync_wait(reference(object)) == &object);
  CHECK(*sync_wait([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); }) ==
        5);
  CHECK(sync_wait([]() -> beck::awaitable<int> { co_return 6; }) == 6);
  bool ran = false;
  sync_wait([&]() -> task<> {
    ran = true;
    co_return;
  });
  CHECK(ran);
}

TEST_CASE("a callable given to sync_wait keeps its captures until its task has ended") {
  auto captured = std::make_shared<int>(3);
  const std::weak_ptr<int> witness = captured;
  const int result = sync_wait([captured = std::move(captured)]() -> task<int> {
    const int n = co_await after_a_timer(1);
    co_return n + *captured;
  });
  CHECK(result == 4);
  CHECK(witness.expired());
}

TEST_CASE("sync_wait throws what the task throws") {
  CHECK_THROWS_WITH_AS(sync_wait(fails()), "inside", std::runtime_error);
}

TEST_CASE("a task that can never finish is a logic_error, and its frame is destroyed") {
  auto captured = std::make_shared<int>(0);
  const std::weak_ptr<int> witness = captured;
  CHECK_THROWS_AS(sync_wait([captured = std::move(captured)]() -> task<> { co_await never(); }),
                  std::logic_error);
  CHECK(witness.expired());
}

TEST_CASE("a task that stops its private context before it has finished is a logic_error too") {
  CHECK_THROWS_AS(sync_wait([]() -> task<> {
                    const auto executor = co_await beck::this_coro::executor;
                    beck::steady_timer timer(executor, 1h);
                    static_cast<beck::io_context&>(executor.context()).stop();
                    beck::ignore(co_await timer.async_wait());
                  }),
                  std::logic_error);
}

TEST_CASE("what a task leaves running on its private context ends with sync_wait") {
  auto witness = std::make_shared<int>(0);
  sync_wait([&]() -> task<> {
    auto forever = [kept = witness]() -> task<> {
      const auto executor = co_await beck::this_coro::executor;
      beck::steady_timer timer(executor, 1h);
      beck::ignore(co_await timer.async_wait());
    };
    beck::spawn(std::move(forever));
    co_await beck::post(beck::detail::current_executor());
    CHECK(witness.use_count() == 2);
  });
  CHECK(witness.use_count() == 1);
}

TEST_CASE("sync_wait works inside a handler of another context") {
  beck::io_context context;
  int result = 0;
  beck::post(context, [&] {
    result = sync_wait(after_a_timer(2));
    CHECK(context.get_executor().running_in_this_thread());
  });
  context.run();
  CHECK(result == 2);
}

TEST_CASE("sync_wait on an executor blocks until the task has run there") {
  running_context other;
  CHECK(sync_wait(other.context.get_executor(), after_a_timer(7)) == 7);
  CHECK(sync_wait(other.context.get_executor(), [&]() -> task<bool> {
    co_return other.context.get_executor().running_in_this_thread();
  }));
  CHECK_THROWS_WITH_AS(sync_wait(other.context.get_executor(), fails()), "inside",
                       std::runtime_error);
}

TEST_CASE("threads may wait for the same context at once") {
  running_context other;
  int sums[3] = {};
  std::thread threads[3];
  for (int t = 0; t < 3; ++t) {
    threads[t] = std::thread([&, t] {
      for (int i = 0; i < 100; ++i)
        sums[t] += sync_wait(other.context.get_executor(), after_a_timer(1));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int sum : sums) CHECK(sum == 100);
}

TEST_CASE("a waiting thread is told with a logic_error that the context has gone") {
  std::thread waiter;
  std::string message;
  {
    beck::io_context context;
    bool started = false;
    waiter = std::thread([&] {
      try {
        sync_wait(context.get_executor(), [&]() -> task<> {
          started = true;
          co_await std::suspend_always();
        });
      } catch (const std::logic_error& e) {
        message = e.what();
      }
    });
    const auto guard = beck::make_work_guard(context);
    while (!started) context.run_one();
  }
  waiter.join();
  CHECK(message.find("cannot finish") != std::string::npos);
}

TEST_CASE("sync_wait on the own runner's executor ends the program with a message") {
  const std::string by_executor = dies_with([] {
    beck::io_context context;
    beck::post(context, [&] { sync_wait(context.get_executor(), after_a_timer(1)); });
    context.run();
  });
  CHECK(by_executor.find("wait for itself") != std::string::npos);
  const std::string by_context = dies_with([] {
    beck::io_context context;
    beck::post(context, [&] { sync_wait(context, after_a_timer(1)); });
    context.run();
  });
  CHECK(by_context.find("wait for itself") != std::string::npos);
}

TEST_CASE("sync_wait with a context runs it until the task has finished, again and again") {
  beck::io_context context;
  CHECK(sync_wait(context, after_a_timer(7)) == 7);
  CHECK(sync_wait(context, after_a_timer(8)) == 8);
  CHECK_FALSE(context.stopped());
  CHECK_THROWS_WITH_AS(sync_wait(context, fails()), "inside", std::runtime_error);
  CHECK_FALSE(context.stopped());
  beck::post(context, [] {});
  CHECK(context.run() == 1);
  CHECK(sync_wait(context, after_a_timer(9)) == 9);  // a context that ran out of work before
}

TEST_CASE("other tasks run while sync_wait runs their context, and stay on it") {
  beck::io_context context;
  int steps = 0;
  auto other = [&]() -> task<> {
    ++steps;
    beck::steady_timer timer(context, 1h);
    beck::ignore(co_await timer.async_wait());
    ++steps;
  };
  beck::co_spawn(context, other, beck::detached);
  CHECK(sync_wait(context, after_a_timer(1)) == 1);
  CHECK(steps == 1);
}

TEST_CASE("stop ends sync_wait with a logic_error, and the task can go on later") {
  beck::io_context context;
  auto captured = std::make_shared<int>(3);
  const std::weak_ptr<int> witness = captured;
  int result = 0;
  beck::post(context, [&] { context.stop(); });
  CHECK_THROWS_AS(sync_wait(context,
                            [&, captured = std::move(captured)]() -> task<> {
                              result = co_await after_a_timer(*captured);
                              result += *captured;
                            }),
                  std::logic_error);
  CHECK(result == 0);
  CHECK(witness.use_count() == 1);
  context.restart();
  context.run();
  CHECK(result == 6);
  CHECK(witness.expired());
}

TEST_CASE("a task that can never finish is a logic_error on a context of one's own, too") {
  auto captured = std::make_shared<int>(0);
  const std::weak_ptr<int> witness = captured;
  {
    beck::io_context context;
    CHECK_THROWS_AS(
        sync_wait(context, [captured = std::move(captured)]() -> task<> { co_await never(); }),
        std::logic_error);
    CHECK(witness.use_count() == 1);
  }
  CHECK(witness.expired());
}

TEST_CASE("what another handler throws leaves sync_wait, and the context can still be run") {
  beck::io_context context;
  beck::post(context, [] { throw std::runtime_error("a handler"); });
  CHECK_THROWS_WITH_AS(sync_wait(context, after_a_timer(1)), "a handler", std::runtime_error);
  context.run();
  CHECK(sync_wait(context, after_a_timer(2)) == 2);
}
