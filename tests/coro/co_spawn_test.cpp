// SPDX-License-Identifier: BSL-1.0
// co_spawn and spawn in all forms: what is kept alive and for how long, where a handler is called
// and with what, and where an exception goes that nobody takes.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/dies.hpp"
#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"

using beck::co_spawn;
using beck::detached;
using beck::task;
using beck::test::allocation_fault;
using beck::test::handler_life;
using beck::test::large_tracked;
using beck::test::manual_queue;
using beck::test::tracked;

namespace {

task<int> give(int n) { co_return n; }
task<int> fail() {
  throw std::runtime_error("failed");
  co_return 0;
}
beck::awaitable<int> give_awaitable(int n) { co_return n; }

// A coroutine frame that no recycled block holds.
task<> large_frame(beck::io_context& context, bool& ran) {
  char data[beck::test::unrecycled_bytes];
  data[0] = 1;
  co_await beck::post(context);
  ran = data[0] == 1;
}

std::string message_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a spawned task does not run inside the call that spawns it") {
  beck::io_context context;
  int ran = 0;
  const auto body = [&]() -> task<> {
    ++ran;
    co_return;
  };
  co_spawn(context, body(), detached);
  beck::post(context, [&] {
    CHECK(ran == 1);  // the one from before
    co_spawn(context, body, detached);
    beck::spawn(body);
    CHECK(ran == 1);
  });
  CHECK(ran == 0);
  context.run();
  CHECK(ran == 3);
}

TEST_CASE("co_spawn takes a context, an executor or a handle to one") {
  beck::io_context context;
  int sum = 0;
  const auto add = [&](std::exception_ptr, int n) { sum += n; };
  co_spawn(context, give(1), add);
  co_spawn(context.get_executor(), give(10), add);
  co_spawn(beck::any_io_executor(context.get_executor()), give(100), add);
  co_spawn(context, give_awaitable(1000), add);
  context.run();
  CHECK(sum == 1111);
}

TEST_CASE("a callable lives as long as its coroutine, with all its captures") {
  beck::io_context context;
  auto witness = std::make_shared<std::string>("captured");
  bool over = false;
  co_spawn(
      context,
      [witness, &context, &over]() -> task<> {
        co_await beck::post(context);
        co_await beck::post(context);
        CHECK(*witness == "captured");
        over = true;
      },
      detached);
  CHECK(witness.use_count() == 2);
  context.run();
  CHECK(over);
  CHECK(witness.use_count() == 1);
}

TEST_CASE("a callable that can only be moved, and one that returns an awaitable, can be spawned") {
  beck::io_context context;
  int sum = 0;
  co_spawn(
      context, [p = std::make_unique<int>(4)]() -> task<int> { co_return *p; },
      [&](std::exception_ptr, int n) { sum += n; });
  co_spawn(
      context, []() -> beck::awaitable<int> { co_return 5; },
      [&](std::exception_ptr, int n) { sum += n; });
  context.run();
  CHECK(sum == 9);
}

TEST_CASE("a handler gets the value and no exception, once, when the coroutine is gone") {
  beck::io_context context;
  auto witness = std::make_shared<int>(0);
  handler_life life;
  co_spawn(
      context, [witness]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(6); },
      tracked(life, [&](std::exception_ptr error, std::unique_ptr<int> value) {
        CHECK_FALSE(error);
        CHECK(*value == 6);
        CHECK(witness.use_count() == 1);
      }));
  context.run();
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("a handler of a task without a value gets only the exception") {
  beck::io_context context;
  std::string message = "not called";
  co_spawn(
      context, []() -> task<> { co_return; },
      [&](std::exception_ptr error) { message = message_of(error); });
  context.run();
  CHECK(message.empty());
}

TEST_CASE("an exception goes to the handler, with an empty value") {
  beck::io_context context;
  std::string message;
  co_spawn(context, fail(), [&](std::exception_ptr error, int n) {
    message = message_of(error);
    CHECK(n == 0);
  });
  context.run();
  CHECK(message == "failed");
}

TEST_CASE("an exception of the callable itself goes to the handler, before there is a coroutine") {
  beck::io_context context;
  std::string message;
  co_spawn(
      context,
      [refuse = true]() -> task<> {
        if (refuse) throw std::runtime_error("refused");
        return []() -> task<> { co_return; }();
      },
      [&](std::exception_ptr error) { message = message_of(error); });
  context.run();
  CHECK(message == "refused");
}

TEST_CASE("an exception out of a handler leaves run() and the context goes on (K1)") {
  beck::io_context context;
  int ran = 0;
  co_spawn(context, give(1), [](std::exception_ptr, int) { throw std::runtime_error("handler"); });
  co_spawn(context, give(1), [&](std::exception_ptr, int) { ++ran; });
  CHECK_THROWS_WITH_AS(context.run(), "handler", std::runtime_error);
  context.run();
  CHECK(ran == 1);
}

TEST_CASE("a handler is called on its own executor and counts as work there meanwhile") {
  beck::io_context context;
  manual_queue queue;
  handler_life life;
  co_spawn(context, give(3),
           beck::bind_executor(queue.executor(), tracked(life, [](std::exception_ptr error, int n) {
                                 CHECK_FALSE(error);
                                 CHECK(n == 3);
                               })));
  CHECK(queue.work() == 1);
  context.run();
  CHECK(life.calls == 0);
  CHECK(queue.run() == 1);
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
  CHECK(queue.work() == 0);
}

TEST_CASE("a tree that is destroyed un-run leaves no work on its handler's executor") {
  manual_queue queue;
  handler_life life;
  {
    beck::io_context never_run;
    co_spawn(never_run, give(3),
             beck::bind_executor(queue.executor(), tracked(life, [](std::exception_ptr, int) {})));
    beck::io_context stopped_between;
    co_spawn(
        stopped_between, []() -> task<> { co_await std::suspend_always(); },
        beck::bind_executor(queue.executor(), tracked(life, [](std::exception_ptr) {})));
    stopped_between.run();
    CHECK(queue.work() == 2);
  }
  CHECK(queue.work() == 0);
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
}

TEST_CASE("a handler that waits on its executor is destroyed with that executor's queue") {
  handler_life life;
  {
    manual_queue queue;
    beck::io_context context;
    co_spawn(context, give(3),
             beck::bind_executor(queue.executor(), tracked(life, [](std::exception_ptr, int) {})));
    context.run();
    CHECK(life.live == 1);
  }
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
}

TEST_CASE("co_spawn takes deferred, use_awaitable and tuple tokens") {
  beck::io_context context;
  bool over = false;
  co_spawn(
      context,
      [&]() -> task<> {
        const int a = co_await co_spawn(context, give(1), beck::deferred);
        CHECK(a == 1);
        const int b = co_await co_spawn(context, give(2), beck::use_awaitable);
        CHECK(b == 2);
        auto [error, c] = co_await co_spawn(context, fail(), beck::as_tuple);
        CHECK(message_of(error) == "failed");
        CHECK(c == 0);
        bool caught = false;
        try {
          co_await co_spawn(context, fail(), beck::deferred);
        } catch (const std::runtime_error&) {
          caught = true;
        }
        CHECK(caught);
        over = true;
      },
      detached);
  context.run();
  CHECK(over);
}

TEST_CASE("a task spawned on another executor runs there, with that executor in its scope") {
  beck::io_context home;
  beck::io_context other;
  bool over = false;
  co_spawn(
      home,
      [&]() -> task<> {
        const auto inner = [&]() -> task<int> {
          const auto executor = co_await beck::this_coro::executor;
          CHECK(executor == beck::any_io_executor(other.get_executor()));
          CHECK(other.get_executor().running_in_this_thread());
          co_return 1;
        };
        const int n = co_await co_spawn(other, inner, beck::deferred);
        CHECK(n == 1);
        CHECK(home.get_executor().running_in_this_thread());
        over = true;
      },
      detached);
  while (!over) {
    home.poll();
    other.poll();
    other.restart();
  }
}

TEST_CASE("a detached exception goes to the context's handler, and the context goes on (K1)") {
  beck::io_context context;
  std::vector<std::string> messages;
  context.on_unhandled(
      [](std::exception_ptr error, void* data) {
        static_cast<std::vector<std::string>*>(data)->push_back(message_of(error));
      },
      &messages);
  int ran = 0;
  co_spawn(context, fail(), detached);
  co_spawn(
      context,
      [&]() -> task<> {
        co_await beck::post(context);
        ++ran;
        throw std::runtime_error("later");
      },
      detached);
  co_spawn(
      context,
      [&]() -> task<> {
        co_await beck::post(context);
        ++ran;
      },
      detached);
  context.run();
  CHECK(ran == 2);
  CHECK(messages == std::vector<std::string>{"failed", "later"});
}

TEST_CASE("a detached exception without a handler ends the program and says what it was (K1)") {
  const std::string text = dies_with([] {
    beck::io_context context;
    co_spawn(context, fail(), detached);
    context.run();
  });
  CHECK(text.find("failed") != std::string::npos);
  CHECK(text.find("detached") != std::string::npos);
  const std::string unknown = dies_with([] {
    beck::io_context context;
    co_spawn(
        context,
        []() -> task<> {
          throw 7;
          co_return;
        },
        detached);
    context.run();
  });
  CHECK(unknown.find("unknown") != std::string::npos);
}

TEST_CASE("a detached exception on a user's executor ends the program with the message too (K1)") {
  const std::string text = dies_with([] {
    manual_queue queue;
    co_spawn(queue.executor(), fail(), detached);
    queue.run();
  });
  CHECK(text.find("failed") != std::string::npos);
}

TEST_CASE("without memory for its root a spawn is an exception, and nothing has started (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  handler_life life;
  bool ran = false;
  const auto spawn_large = [&] {
    co_spawn(
        context,
        [&, padding = std::vector<char>()]() -> task<> {
          ran = true;
          co_return;
        },
        large_tracked(life, [](std::exception_ptr) {}));
  };
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(spawn_large(), std::bad_alloc);
    CHECK(fault.fired());
  }
  CHECK(life.live == 0);
  CHECK(context.run() == 0);
  CHECK_FALSE(ran);
  context.restart();
  spawn_large();
  context.run();
  CHECK(ran);
  CHECK(life.calls == 1);
}

TEST_CASE("without memory for the frame the exception goes to the handler (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  bool ran = false;
  bool refused = false;
  co_spawn(
      context, [&] { return large_frame(context, ran); },
      [&](std::exception_ptr error) {
        try {
          if (error) std::rethrow_exception(error);
        } catch (const std::bad_alloc&) {
          refused = true;
        }
      });
  {
    const allocation_fault fault(1);
    context.run();
    CHECK(fault.fired());
  }
  CHECK(refused);
  CHECK_FALSE(ran);
}

TEST_CASE("completing on another executor never allocates (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  beck::io_context other;
  handler_life life;
  co_spawn(context, give(8),
           beck::bind_executor(other, large_tracked(life, [](std::exception_ptr error, int n) {
                                 CHECK_FALSE(error);
                                 CHECK(n == 8);
                               })));
  {
    const allocation_fault fault(1);
    context.run();
    other.run();
    CHECK_FALSE(fault.fired());
  }
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("trees that are suspended when their context goes are destroyed newest first") {
  std::string order;
  struct note_end {
    std::string& order;
    char name;
    ~note_end() { order += name; }
  };
  {
    beck::io_context context;
    const auto wait = [&](char name) -> task<> {
      const note_end at_end{order, name};
      co_await std::suspend_always();
    };
    const auto nested = [&](char name) -> task<> {
      const note_end at_end{order, name};
      co_await wait(static_cast<char>(name + 'a' - 'A'));
    };
    for (const char name : {'A', 'B', 'C'}) co_spawn(context, nested(name), detached);
    co_spawn(context, []() -> task<> { co_return; }, detached);
    context.run();
    CHECK(order.empty());
  }
  CHECK(order == "cCbBaA");
}

TEST_CASE("a tree that is destroyed may spawn, post and start operations in its destructors") {
  int spawned = 0;
  struct starter {
    beck::io_context& context;
    int& spawned;
    ~starter() {
      beck::post(context, [this_spawned = &spawned] { ++*this_spawned; });
      co_spawn(
          context,
          [](int& n) -> task<> {
            ++n;
            co_return;
          }(spawned),
          detached);
    }
  };
  {
    beck::io_context context;
    co_spawn(
        context,
        [&]() -> task<> {
          const starter at_end{context, spawned};
          co_await std::suspend_always();
        },
        detached);
    context.run();
  }
  CHECK(spawned == 0);  // what is started while a context goes is destroyed un-run
}
