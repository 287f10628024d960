// SPDX-License-Identifier: BSL-1.0
// async_compose: the steps, what `self` answers, the work that is counted, and where a completion
// goes that comes up inside the initiating function.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/redirect_error.hpp>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using beck::test::allocation_fault;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::large_tracked;
using beck::test::manual_queue;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::tracked;

namespace {

// Waits `rounds` times for a timer; its state can only be moved.
template <class Token = beck::deferred_t>
auto async_rounds(beck::steady_timer& timer, int rounds, Token&& token = {}) {
  return beck::async_compose<Token, void(beck::error_code, int)>(
      [&timer, rounds, done = std::make_unique<int>(0)](auto& self,
                                                        beck::error_code ec = {}) mutable {
        if (ec || *done == rounds) return self.complete(ec, *done);
        ++*done;
        timer.expires_after(beck::duration(0));
        timer.async_wait(std::move(self));
      },
      token, timer);
}

// Completes in its first step.
template <class Place, class Token = beck::deferred_t>
auto async_at_once(Place&& place, Token&& token = {}) {
  return beck::async_compose<Token, void(beck::error_code, int)>(
      [](auto& self) { self.complete(beck::error_code(), 7); }, token, place);
}

}  // namespace

TEST_CASE("a composed operation goes through its steps and completes once") {
  beck::io_context context;
  beck::steady_timer timer(context);
  handler_life life;
  async_rounds(timer, 3, tracked(life, [](beck::error_code ec, int rounds) {
                 CHECK_FALSE(ec);
                 CHECK(rounds == 3);
               }));
  CHECK(context.run() >= 3);
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("a composed operation works with every token that a coroutine may give") {
  beck::io_context context;
  beck::steady_timer timer(context);
  run_task(context, [&]() -> beck::task<> {
    const auto [ec, a] = co_await async_rounds(timer, 2);
    CHECK_FALSE(ec);
    CHECK(a == 2);
    const int b = co_await async_rounds(timer, 2, beck::use_awaitable);
    CHECK(b == 2);
    const auto [ec2, c] = co_await async_rounds(timer, 2, beck::as_tuple);
    CHECK(c == 2);
    beck::error_code redirected;
    const int d = co_await async_rounds(timer, 2, beck::redirect_error(redirected));
    CHECK(d == 2);
    auto later = async_rounds(timer, 2);
    const auto [ec3, e] = co_await std::move(later)(beck::as_tuple);
    CHECK(e == 2);
  });
}

TEST_CASE("a completion inside the initiating function is queued for a callback") {
  beck::io_context context;
  handler_life life;
  async_at_once(context, tracked(life, [](beck::error_code, int n) { CHECK(n == 7); }));
  CHECK(life.calls == 0);
  beck::post(context, [&] {
    async_at_once(context, tracked(life, [](beck::error_code, int) {}));
    CHECK(life.calls == 1);  // the one from before run()
  });
  context.run();
  CHECK(life.calls == 2);
  CHECK(life.live == 0);
}

TEST_CASE("a completion that dispatch brings up inside the initiating function is queued too") {
  beck::io_context context;
  bool inside = false;
  int calls = 0;
  beck::post(context, [&] {
    inside = true;
    const auto handler = [&](beck::error_code) {
      CHECK_FALSE(inside);
      ++calls;
    };
    beck::async_compose<decltype(handler), void(beck::error_code)>(
        [&, first = true](auto& self) mutable {
          if (std::exchange(first, false)) {
            beck::dispatch(context, std::move(self));  // comes back before it returns
          } else {
            CHECK(inside);
            self.complete(beck::error_code());
          }
        },
        handler, context);
    inside = false;
  });
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("a completion inside a nested initiating function does not reach the outer handler") {
  beck::io_context context;
  bool inside = false;
  int calls = 0;
  beck::post(context, [&] {
    inside = true;
    const auto handler = [&](int n) {
      CHECK_FALSE(inside);
      CHECK(n == 8);
      ++calls;
    };
    beck::async_compose<decltype(handler), void(int)>(
        [&, first = true](auto& self, beck::error_code = {}, int n = 0) mutable {
          if (std::exchange(first, false)) {
            async_at_once(context, std::move(self));
          } else {
            self.complete(n + 1);
          }
        },
        handler, context);
    inside = false;
  });
  context.run();
  CHECK(calls == 1);
}

TEST_CASE(
    "a completion inside the initiating function goes to the immediate executor if there is one") {
  beck::io_context context;
  manual_queue queue;
  std::string order;
  beck::post(context, [&] {
    async_at_once(context, beck::bind_immediate_executor(
                               context, [&](beck::error_code, int) { order += 'i'; }));
    order += '-';
    async_at_once(context, beck::bind_immediate_executor(
                               queue.executor(), [&](beck::error_code, int) { order += 'q'; }));
    order += '-';
  });
  context.run();
  CHECK(order == "i--");
  queue.run();
  CHECK(order == "i--q");
}

TEST_CASE("outside of run() an immediate executor that is a context has the handler in its queue") {
  beck::io_context context;
  int calls = 0;
  async_at_once(context,
                beck::bind_immediate_executor(context, [&](beck::error_code, int) { ++calls; }));
  CHECK(calls == 0);
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("a coroutine does not suspend for a composed operation that completes at once") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    co_await beck::post(context);
    const auto before = context.stats().delivered;
    for (int i = 0; i < 20; ++i) {
      const auto [ec, n] = co_await async_at_once(context);
      CHECK(n == 7);
      const auto [ec2, m] = co_await async_at_once(context, beck::as_tuple);
      CHECK(m == 7);
    }
    CHECK(context.stats().delivered == before);
  });
}

TEST_CASE("self has the final handler's executor, allocator and immediate executor") {
  beck::io_context context;
  manual_queue queue;
  manual_queue immediate;
  allocator_counts counts;
  auto handler =
      beck::bind_allocator(counting_allocator<>(counts),
                           beck::bind_immediate_executor(
                               immediate.executor(), beck::bind_executor(queue.executor(), [] {})));
  beck::async_compose<decltype(handler), void()>(
      [&](auto& self) {
        CHECK(self.get_executor() == beck::any_io_executor(queue.executor()));
        CHECK(self.get_io_executor() == beck::any_io_executor(context.get_executor()));
        CHECK(beck::get_associated_allocator(self).counts() == &counts);
        CHECK(beck::get_associated_immediate_executor(self) == immediate.executor());
        self.complete();
      },
      handler, context);
  CHECK(queue.queued() == 0);
  CHECK(immediate.queued() == 1);
  immediate.run();
  CHECK(counts.live == 0);
}

TEST_CASE("without an executor of the handler the first I/O object's is taken") {
  beck::io_context first;
  beck::io_context second;
  beck::steady_timer timer(first);
  const auto handler = [] {};
  beck::async_compose<decltype(handler), void()>(
      [&](auto& self) {
        CHECK(self.get_executor() == beck::any_io_executor(first.get_executor()));
        self.complete();
      },
      handler, timer, second);
  CHECK(first.run() == 1);
}

TEST_CASE("without any I/O object the current executor is taken") {
  beck::io_context context;
  int calls = 0;
  beck::post(context, [&] {
    const auto handler = [&] { ++calls; };
    beck::async_compose<decltype(handler), void()>([](auto& self) { self.complete(); }, handler);
    CHECK(calls == 0);
  });
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("a composed operation is work of all its executors until it completes") {
  beck::io_context context;
  manual_queue io;
  manual_queue handlers;
  std::thread worker;
  bool over = false;
  auto handler = beck::bind_executor(handlers.executor(), [&] { over = true; });
  beck::async_compose<decltype(handler), void()>(
      [&](auto& self) {
        using self_type = std::remove_reference_t<decltype(self)>;
        if (io.work() == 0) return;
        worker = std::thread([&context, kept = std::make_unique<self_type>(std::move(self))] {
          beck::post(context.get_executor(),
                     [kept = std::move(*kept)]() mutable { kept.complete(); });
        });
      },
      handler, context, io.executor(), io.executor());
  CHECK(io.work() == 1);  // one executor counts once
  CHECK(handlers.work() == 1);
  context.run();  // does not return before the thread has posted
  worker.join();
  CHECK(over);
  CHECK(io.work() == 0);
  CHECK(handlers.work() == 0);
}

TEST_CASE("a composed operation that is dropped destroys its handler un-run and ends its work") {
  manual_queue queue;
  handler_life life;
  auto handler = tracked(life, [] {});
  beck::async_compose<decltype(handler), void()>([](auto&) {}, handler, queue.executor());
  CHECK(queue.work() == 0);
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
}

TEST_CASE(
    "without memory for its first step a composed operation is an exception and nothing else "
    "(K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  beck::steady_timer timer(context);
  handler_life life;
  for (int n = 1;; ++n) {
    const allocation_fault fault(n);
    try {
      async_rounds(timer, 1, large_tracked(life, [](beck::error_code, int) {}));
      async_at_once(context, large_tracked(life, [](beck::error_code, int) {}));
    } catch (const std::bad_alloc&) {}
    if (!fault.fired()) break;
    CHECK(n < 10);
  }
  context.run();
  CHECK(life.calls >= 2);
  CHECK(life.live == 0);
}

TEST_CASE("the blocks of all steps come from the handler's allocator") {
  beck::io_context context;
  beck::steady_timer timer(context);
  allocator_counts counts;
  bool free_before_the_call = false;
  async_rounds(timer, 4,
               beck::bind_allocator(counting_allocator<>(counts), [&](beck::error_code, int) {
                 free_before_the_call = counts.live == 0;
               }));
  context.run();
  CHECK(counts.allocations == 4);
  CHECK(free_before_the_call);
}

TEST_CASE("an operation may be composed of composed ones") {
  beck::io_context context;
  stream_pair pair(context);
  beck::steady_timer timer(context);
  const auto echo = [&](auto&& token) {
    return beck::async_compose<decltype(token), void(beck::error_code, int)>(
        [&, step = 0](auto& self, beck::error_code ec = {}, auto... n) mutable {
          switch (step++) {
            case 0:
              return beck::async_write(pair.a, beck::buffer("ab", 2), std::move(self));
            case 1:
              CHECK((n + ... + 0) == 2);
              return async_rounds(timer, 3, std::move(self));
            default:
              return self.complete(ec, (static_cast<int>(n) + ... + 0));
          }
        },
        token, pair.a);
  };
  run_task(context, [&]() -> beck::task<> {
    const auto [ec, n] = co_await echo(beck::deferred);
    CHECK_FALSE(ec);
    CHECK(n == 3);
  });
}
