// SPDX-License-Identifier: BSL-1.0
// The binders: each answers its own query, leaves the others to what it wraps, and works as a token
// and as a handler.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <memory>
#include <string>

#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::manual_queue;
using beck::test::stream_pair;
using beck::test::tracked;

namespace {

// A handler that answers everything itself.
struct full_handler {
  using executor_type = manual_queue::executor_type;
  executor_type get_executor() const noexcept { return executor; }
  executor_type get_immediate_executor() const noexcept { return immediate; }
  counting_allocator<> get_allocator() const noexcept { return allocator; }
  void operator()() const {}

  executor_type executor;
  executor_type immediate;
  counting_allocator<> allocator;
};

struct specialised_handler {
  int number;
  void operator()() const {}
};

}  // namespace

template <class F>
struct beck::associated_executor<specialised_handler, F> {
  static int get(const specialised_handler& handler, const F& = F()) noexcept {
    return handler.number;
  }
};

TEST_CASE("a plain callable has no association") {
  const auto plain = [] {};
  using plain_type = decltype(plain);
  static_assert(!beck::detail::has_associated_executor<plain_type>);
  static_assert(!beck::detail::has_immediate_executor<plain_type>);
  static_assert(!beck::detail::has_associated_allocator<plain_type>);
  static_assert(beck::detail::plain_handler<plain_type, void()>);
  CHECK(beck::get_associated_executor(plain, 7) == 7);
}

TEST_CASE("a binder answers its own query and asks its target for the others") {
  manual_queue own;
  manual_queue immediate;
  manual_queue bound;
  allocator_counts counts;
  allocator_counts bound_counts;
  const full_handler handler{own.executor(), immediate.executor(), counting_allocator<>(counts)};

  const auto with_executor = beck::bind_executor(bound.executor(), handler);
  CHECK(beck::get_associated_executor(with_executor) == bound.executor());
  CHECK(beck::get_associated_immediate_executor(with_executor) == immediate.executor());
  CHECK(beck::get_associated_allocator(with_executor).counts() == &counts);

  const auto with_immediate = beck::bind_immediate_executor(bound.executor(), handler);
  CHECK(beck::get_associated_executor(with_immediate) == own.executor());
  CHECK(beck::get_associated_immediate_executor(with_immediate) == bound.executor());
  CHECK(beck::get_associated_allocator(with_immediate).counts() == &counts);

  const auto with_allocator = beck::bind_allocator(counting_allocator<>(bound_counts), handler);
  CHECK(beck::get_associated_executor(with_allocator) == own.executor());
  CHECK(beck::get_associated_immediate_executor(with_allocator) == immediate.executor());
  CHECK(beck::get_associated_allocator(with_allocator).counts() == &bound_counts);
}

TEST_CASE("binders nest: the outermost answer counts") {
  manual_queue inner;
  manual_queue outer;
  allocator_counts counts;
  const auto handler = beck::bind_executor(
      outer.executor(), beck::bind_allocator(counting_allocator<>(counts),
                                             beck::bind_executor(inner.executor(), [] {})));
  CHECK(beck::get_associated_executor(handler) == outer.executor());
  CHECK(beck::get_associated_executor(handler.get()) == inner.executor());
  CHECK(beck::get_associated_allocator(handler).counts() == &counts);
  static_assert(!beck::detail::has_immediate_executor<decltype(handler)>);
}

TEST_CASE("a binder around a handler with a specialised trait gives what the trait says") {
  allocator_counts counts;
  const auto handler = beck::bind_allocator(counting_allocator<>(counts), specialised_handler{5});
  static_assert(beck::detail::has_associated_executor<decltype(handler)>);
  CHECK(beck::get_associated_executor(handler) == 5);
}

TEST_CASE("a binder is called as its target is, with the target's result") {
  beck::io_context context;
  auto doubled =
      beck::bind_executor(context, [p = std::make_unique<int>(2)](int n) { return *p * n; });
  CHECK(doubled(21) == 42);
  CHECK(std::move(doubled)(4) == 8);
}

TEST_CASE("an operation completes on the executor that its handler is bound to") {
  beck::io_context context;
  beck::io_context other;
  handler_life life;
  beck::steady_timer timer(context, beck::duration(0));
  timer.async_wait(beck::bind_executor(other, tracked(life, [&](beck::error_code) {
                                         CHECK(other.get_executor().running_in_this_thread());
                                       })));
  context.run();
  CHECK(life.calls == 0);
  other.run();
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("the block of an operation comes from the bound allocator and is free before the call") {
  beck::io_context context;
  allocator_counts counts;
  beck::steady_timer timer(context, beck::duration(0));
  bool free_before_the_call = false;
  timer.async_wait(beck::bind_allocator(counting_allocator<>(counts), [&](beck::error_code) {
    free_before_the_call = counts.live == 0;
  }));
  CHECK(counts.allocations == 1);
  context.run();
  CHECK(free_before_the_call);
}

TEST_CASE(
    "an operation that finishes at once calls a handler with an immediate executor inside the "
    "call") {
  beck::io_context context;
  stream_pair pair(context);
  std::string order;
  beck::post(context, [&] {
    pair.a.async_write_some(
        beck::buffer("x", 1),
        beck::bind_immediate_executor(context, [&](beck::error_code ec, std::size_t n) {
          CHECK_FALSE(ec);
          CHECK(n == 1);
          order += 'i';
        }));
    order += '-';
    pair.a.async_write_some(beck::buffer("x", 1),
                            [&](beck::error_code, std::size_t) { order += 'q'; });
    order += '-';
  });
  context.run();
  CHECK(order == "i--q");
}

TEST_CASE("an immediate executor elsewhere is given the handler") {
  beck::io_context context;
  manual_queue queue;
  stream_pair pair(context);
  int calls = 0;
  beck::post(context, [&] {
    pair.a.async_write_some(beck::buffer("x", 1),
                            beck::bind_immediate_executor(
                                queue.executor(), [&](beck::error_code, std::size_t) { ++calls; }));
    CHECK(calls == 0);
    CHECK(queue.queued() == 1);
  });
  context.run();
  CHECK(calls == 0);
  queue.run();
  CHECK(calls == 1);
}

TEST_CASE("a coroutine may bind every token, and stays on its own executor") {
  beck::io_context context;
  beck::io_context other;
  const auto guard = beck::make_work_guard(other);
  allocator_counts counts;
  bool over = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        beck::steady_timer timer(context);
        const auto plain = co_await timer.async_wait(beck::bind_executor(other));
        CHECK(plain);
        CHECK(context.get_executor().running_in_this_thread());
        auto throwing = timer.async_wait(beck::bind_executor(other, beck::use_awaitable));
        co_await std::move(throwing);
        CHECK(context.get_executor().running_in_this_thread());
        auto [ec] = co_await timer.async_wait(beck::bind_executor(other, beck::as_tuple));
        CHECK_FALSE(ec);
        const counting_allocator<> allocator(counts);
        const auto counted = co_await timer.async_wait(beck::bind_allocator(allocator));
        CHECK(counted);
        const auto immediate = co_await timer.async_wait(beck::bind_immediate_executor(context));
        CHECK(immediate);
        over = true;
      },
      beck::detached);
  while (!over) {
    context.poll();
    other.poll();
  }
  CHECK(counts.allocations == 1);
  CHECK(counts.live == 0);
}

TEST_CASE("a bound detached token drops the result on its executor") {
  beck::io_context context;
  manual_queue queue;
  beck::steady_timer timer(context, beck::duration(0));
  timer.async_wait(beck::bind_executor(queue.executor(), beck::detached));
  CHECK(queue.work() == 1);
  context.run();
  CHECK(queue.run() == 1);
  CHECK(queue.work() == 0);
}
