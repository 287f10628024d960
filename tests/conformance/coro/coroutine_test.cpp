// SPDX-License-Identifier: BSL-1.0
//
// Tasks on a context: when they start, what they give and throw, where they resume, and what
// becomes of those that are suspended when their context goes.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/deferred.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/dies.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"
#include "support/witness.hpp"

using namespace std::chrono_literals;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::witness;

namespace {

// What on_unhandled was given.
struct unhandled {
  static void take(std::exception_ptr error, void* data) {
    auto* self = static_cast<unhandled*>(data);
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      self->messages.emplace_back(e.what());
    }
  }
  std::vector<std::string> messages;
};

beck::task<int> give_later(beck::io_context& ctx, int value) {
  beck::steady_timer timer(ctx, 1us);
  beck::ignore(co_await timer.async_wait());
  co_return value;
}
beck::task<> fail(const char* message) {
  throw std::runtime_error(message);
  co_return;
}
beck::task<> fail_later(beck::io_context& ctx, const char* message) {
  beck::steady_timer timer(ctx, 1us);
  beck::ignore(co_await timer.async_wait());
  throw std::runtime_error(message);
}

}  // namespace

CONFORMANCE("co_spawn runs nothing inside the call, and tasks start in the order of their spawn") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  auto work = [&](int i) -> beck::task<> {
    order.push_back(i);
    beck::steady_timer timer(ctx, 1us);
    beck::ignore(co_await timer.async_wait());
    order.push_back(10 + i);
  };
  for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, work(i), beck::detached);
  CHECK(order.empty());
  CHECK(ctx.run() == 6);  // three starts, three resumptions
  CHECK(order == std::vector{0, 1, 2, 10, 11, 12});
}

CONFORMANCE("spawn starts a task on the current context, after the caller") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] {
    beck::spawn([&]() -> beck::task<> {
      order.push_back(2);
      auto child = [&]() -> beck::task<> {
        order.push_back(4);
        co_return;
      };
      beck::spawn(child);  // not child(): the callable must outlive this frame
      order.push_back(3);
      co_return;
    });
    order.push_back(1);
  });
  ctx.run();
  CHECK(order == std::vector{1, 2, 3, 4});
}

CONFORMANCE("a task is lazy, and one that is never awaited frees what it holds") {
  beck::io_context ctx(context_options());
  std::vector<std::string> log;
  bool ran = false;
  auto work = [&](witness) -> beck::task<> {
    ran = true;
    co_return;
  };
  {
    const auto never = work(witness(log, "argument"));
    CHECK(log.empty());
  }
  CHECK(log == std::vector<std::string>{"argument"});
  CHECK(ctx.run() == 0);
  CHECK_FALSE(ran);
}

CONFORMANCE(
    "a callback given to co_spawn gets the value or the exception, and runs on the context") {
  beck::io_context ctx(context_options());
  int value = 0;
  std::string message;
  beck::co_spawn(ctx, give_later(ctx, 7), [&](std::exception_ptr error, int v) {
    CHECK(error == nullptr);
    CHECK(ctx.get_executor().running_in_this_thread());
    value = v;
  });
  beck::co_spawn(ctx, fail_later(ctx, "from a task"), [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& e) {
      message = e.what();
    }
  });
  ctx.run();
  CHECK(value == 7);
  CHECK(message == "from a task");
}

CONFORMANCE("the callable and its captures live until its coroutine has ended, not longer") {
  beck::io_context ctx(context_options());
  const auto held = std::make_shared<int>(41);
  int seen = 0;
  bool alone_afterwards = false;
  beck::co_spawn(
      ctx,
      [&ctx, &seen, held]() -> beck::task<> {
        beck::steady_timer timer(ctx, 1us);
        beck::ignore(co_await timer.async_wait());
        seen = *held + 1;
      },
      [&](std::exception_ptr) { alone_afterwards = held.use_count() == 1; });
  CHECK(held.use_count() == 2);
  ctx.run();
  CHECK(seen == 42);
  CHECK(alone_afterwards);
}

CONFORMANCE("an awaitable gives values and throws an io_error that carries the byte count") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::size_t sent = 0, before_end = 0;
  beck::error_code error;
  auto work = [&]() -> beck::awaitable<> {
    sent = co_await beck::async_write(pair.b, beck::buffer("abc", 3));
    pair.b.close();
    char space[8];
    try {
      co_await beck::async_read(pair.a, beck::buffer(space));
      FAIL("read eight bytes of three");
    } catch (const beck::io_error& e) {
      before_end = e.transferred();
      error = e.code();
    }
  };
  run_task(ctx, work);
  CHECK(sent == 3);
  CHECK(before_end == 3);
  CHECK(error == beck::error::eof);
}

CONFORMANCE("tasks and awaitables await each other, each keeping its own way of failing") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  pair.b.close();
  std::vector<std::string> seen;
  char space[1];
  auto by_value = [&]() -> beck::task<std::string> {
    const auto got = co_await pair.a.async_read_some(beck::buffer(space));
    co_return got.error() == beck::error::eof ? "eof" : "other";
  };
  auto throwing = [&]() -> beck::awaitable<> {
    const auto text = co_await by_value();
    seen.push_back(text);
    co_await pair.a.async_read_some(beck::buffer(space));
  };
  auto work = [&]() -> beck::task<> {
    try {
      co_await throwing();
    } catch (const beck::io_error& e) {
      seen.push_back(e.code() == beck::error::eof ? "thrown" : "other");
    }
    try {
      beck::ignore(co_await pair.a.async_read_some(beck::buffer(space), beck::use_awaitable));
    } catch (const beck::io_error&) {
      seen.push_back("use_awaitable");
    }
  };
  run_task(ctx, work);
  CHECK(seen == std::vector<std::string>{"eof", "thrown", "use_awaitable"});
}

CONFORMANCE("an exception passes through tasks that were suspended, and destroys what they hold") {
  beck::io_context ctx(context_options());
  std::vector<std::string> log;
  auto inner = [&]() -> beck::task<> {
    const witness local(log, "inner");
    co_await fail_later(ctx, "deep");
  };
  auto outer = [&]() -> beck::task<> {
    const witness local(log, "outer");
    co_await inner();
    log.push_back("not reached");
  };
  auto work = [&]() -> beck::task<> {
    try {
      co_await outer();
    } catch (const std::runtime_error& e) {
      log.push_back(e.what());
    }
  };
  run_task(ctx, work);
  CHECK(log == std::vector<std::string>{"inner", "outer", "deep"});
}

CONFORMANCE("an exception that escapes a detached task reaches on_unhandled, and run goes on") {
  beck::io_context ctx(context_options());  // K1
  unhandled taken;
  ctx.on_unhandled(&unhandled::take, &taken);
  beck::co_spawn(ctx, fail("at once"), beck::detached);
  beck::co_spawn(ctx, fail_later(ctx, "later"), beck::detached);
  // A callable that fails before there is a coroutine.
  beck::co_spawn(
      ctx, []() -> beck::task<> { throw std::runtime_error("no coroutine"); }, beck::detached);
  bool ran = false;
  beck::post(ctx, [&] { ran = true; });
  ctx.run();
  CHECK(ran);
  CHECK(taken.messages == std::vector<std::string>{"at once", "no coroutine", "later"});
}

CONFORMANCE("without an on_unhandled handler such an exception ends the program with a message") {
  const std::string printed = dies_with([] {
    beck::io_context ctx(context_options());
    beck::co_spawn(ctx, fail("nobody takes this"), beck::detached);
    ctx.run();
  });
  CHECK(printed.find("nobody takes this") != std::string::npos);
}

CONFORMANCE("what an on_unhandled handler throws leaves run, and the other tasks stay") {
  beck::io_context ctx(context_options());
  ctx.on_unhandled([](std::exception_ptr error, void*) { std::rethrow_exception(error); });
  int done = 0;
  auto other = [&]() -> beck::task<> { done += co_await give_later(ctx, 1); };
  beck::co_spawn(ctx, other, beck::detached);
  beck::co_spawn(ctx, fail_later(ctx, "escaped"), beck::detached);
  beck::co_spawn(ctx, other, beck::detached);
  CHECK_THROWS_WITH_AS(ctx.run(), "escaped", std::runtime_error);
  ctx.run();
  CHECK(done == 2);
}

CONFORMANCE("results may be moved-only, large, or references") {
  beck::io_context ctx(context_options());
  int target = 1;
  auto pointer = []() -> beck::task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  auto reference = [&]() -> beck::task<int&> { co_return target; };
  auto large = []() -> beck::task<std::array<int, 2000>> {
    std::array<int, 2000> all{};
    all[1999] = 9;
    co_return all;
  };
  int sum = 0;
  std::unique_ptr<int> from_callback;
  auto work = [&]() -> beck::task<> {
    const auto p = co_await pointer();
    int& r = co_await reference();
    r = 2;
    const auto all = co_await large();
    sum = *p + all[1999];
  };
  beck::co_spawn(ctx, work, beck::detached);
  beck::co_spawn(ctx, pointer,
                 [&](std::exception_ptr, std::unique_ptr<int> p) { from_callback = std::move(p); });
  ctx.run();
  CHECK(sum == 14);
  CHECK(target == 2);
  REQUIRE(from_callback);
  CHECK(*from_callback == 5);
}

CONFORMANCE("a coroutine knows its executor") {
  beck::io_context ctx(context_options());
  auto work = [&]() -> beck::task<> {
    const auto executor = co_await beck::this_coro::executor;
    CHECK(executor == beck::any_io_executor(ctx.get_executor()));
    CHECK(executor.running_in_this_thread());
    CHECK(beck::detail::current_executor() == executor);
  };
  run_task(ctx, work);
}

CONFORMANCE("a deep chain of suspended tasks unwinds on a bounded stack") {
  beck::io_context ctx(context_options());
  struct nested {
    static beck::task<int> at(beck::io_context& ctx, int depth) {
      if (depth == 0) co_return co_await give_later(ctx, 0);
      const int below = co_await at(ctx, depth - 1);
      co_return below + 1;
    }
  };
  int depth = 0;
  auto work = [&]() -> beck::task<> { depth = co_await nested::at(ctx, 50'000); };
  run_task(ctx, work);
  CHECK(depth == 50'000);
}

CONFORMANCE("an operation on another context's socket resumes the coroutine on its own context") {
  beck::io_context sockets(context_options()), home(context_options());
  stream_pair pair(sockets);
  std::string received(4, '\0');
  bool at_home = false, timer_at_home = false;
  auto work = [&]() -> beck::task<> {
    const auto got = co_await beck::async_read(pair.a, beck::buffer(received));
    at_home = !got.error() && home.get_executor().running_in_this_thread() &&
              !sockets.get_executor().running_in_this_thread();
    beck::steady_timer timer(sockets, 1us);
    beck::ignore(co_await timer.async_wait());
    timer_at_home = home.get_executor().running_in_this_thread();
  };
  beck::co_spawn(home, work, beck::detached);
  CHECK(home.poll() == 1);  // it waits now, and that is outstanding work of its context
  CHECK_FALSE(home.stopped());
  beck::async_write(pair.b, beck::buffer("ping", 4), beck::detached);
  sockets.run();
  CHECK_FALSE(at_home);  // the sockets' context has only handed it over
  CHECK(home.poll() == 1);
  CHECK(at_home);
  sockets.restart();
  sockets.run();
  CHECK(home.run() == 1);
  CHECK(timer_at_home);
  CHECK(received == "ping");
}

CONFORMANCE_ON(beck::test::kernel,
               "tasks on two threads' contexts work with one another's sockets") {
  beck::io_context left(context_options()), right(context_options());
  stream_pair pair(left);
  int rounds = 0;
  auto ask = [&]() -> beck::task<> {  // on the right, with the left one's socket
    std::array<char, 1> space{'x'};
    for (; rounds < 200; ++rounds) {
      const auto sent = co_await beck::async_write(pair.a, beck::buffer(space));
      const auto got = co_await beck::async_read(pair.a, beck::buffer(space));
      if (sent.error() || got.error()) break;
      if (!right.get_executor().running_in_this_thread()) break;
    }
    pair.a.close();
  };
  auto answer = [&]() -> beck::task<> {
    std::array<char, 1> space{};
    for (;;) {
      const auto got = co_await beck::async_read(pair.b, beck::buffer(space));
      if (got.error()) co_return;
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer(space)));
    }
  };
  beck::co_spawn(left, answer, beck::detached);
  beck::co_spawn(right, ask, beck::detached);
  std::thread other([&] { left.run(); });
  auto guard = beck::make_work_guard(left);
  right.run();
  guard.reset();
  other.join();
  CHECK(rounds == 200);
}

CONFORMANCE("a hundred tasks that wait for one another's messages all end") {
  beck::io_context ctx(context_options());
  constexpr int pairs = 50, messages = 20;
  int exchanged = 0;
  auto talk = [&](int i) -> beck::task<> {
    stream_pair pair(ctx);
    auto echo = [&]() -> beck::task<> {
      std::array<char, 3> space{};
      for (int m = 0; m < messages; ++m) {
        beck::ignore(co_await beck::async_read(pair.b, beck::buffer(space)));
        beck::ignore(co_await beck::async_write(pair.b, beck::buffer(space)));
      }
    };
    beck::co_spawn(ctx, echo, beck::detached);
    for (int m = 0; m < messages; ++m) {
      std::array<char, 3> sent{static_cast<char>(i), static_cast<char>(m), 'z'}, got{};
      beck::ignore(co_await beck::async_write(pair.a, beck::buffer(sent)));
      beck::ignore(co_await beck::async_read(pair.a, beck::buffer(got)));
      exchanged += sent == got ? 1 : 0;
    }
    beck::steady_timer last(ctx, 1ms);  // the echo's task has ended by then, the pair may go
    beck::ignore(co_await last.async_wait());
  };
  for (int i = 0; i < pairs; ++i) beck::co_spawn(ctx, talk(i), beck::detached);
  ctx.run();
  CHECK(exchanged == pairs * messages);
}
