// SPDX-License-Identifier: BSL-1.0
// post, dispatch and defer beyond plain callables, which tests/conformance covers: associations,
// tokens, and what awaiting one's turn costs.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/io_context.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/post.hpp>
#include <memory>
#include <string>
#include <tuple>

#include "base/dies.hpp"
#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"

using beck::test::allocation_fault;
using beck::test::allocations;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::large_tracked;
using beck::test::manual_queue;

namespace {

template <class Work>
void run_task(beck::io_context& context, Work&& work) {
  beck::co_spawn(context, std::forward<Work>(work), beck::detached);
  context.run();
  context.restart();
}

}  // namespace

TEST_CASE("a posted callable with an executor of its own takes its turn and then runs there") {
  beck::io_context context;
  manual_queue queue;
  int ran = 0;
  beck::post(context, beck::bind_executor(queue.executor(), [&] { ++ran; }));
  CHECK(queue.queued() == 0);
  context.run();
  CHECK(ran == 0);
  CHECK(queue.run() == 1);
  CHECK(ran == 1);
}

TEST_CASE("a posted callable counts as work of its own executor until it was called") {
  beck::io_context context;
  manual_queue queue;
  beck::post(context, beck::bind_executor(queue.executor(), [] {}));
  CHECK(queue.work() == 1);
  context.run();
  queue.run();
  CHECK(queue.work() == 0);
  {
    beck::io_context never_run;
    beck::post(never_run, beck::bind_executor(queue.executor(), [] {}));
    CHECK(queue.work() == 1);
  }
  CHECK(queue.work() == 0);
}

TEST_CASE("a context waits for a callable of its own that still has to pass another one") {
  beck::io_context first;
  beck::io_context second;
  bool ran = false;
  beck::post(second, beck::bind_executor(first, [&] { ran = true; }));
  CHECK(first.poll() == 0);
  CHECK_FALSE(first.stopped());  // it has work, although nothing is queued in it yet
  second.run();
  first.run();
  CHECK(ran);
}

TEST_CASE("a callable without a destination goes to its own executor") {
  beck::io_context context;
  manual_queue queue;
  std::string order;
  beck::post(beck::bind_executor(queue.executor(), [&] { order += 'p'; }));
  beck::defer(beck::bind_executor(queue.executor(), [&] { order += 'd'; }));
  CHECK(order.empty());
  queue.run();
  CHECK(order == "pd");
  beck::dispatch(beck::bind_executor(context, [&] { order += 'x'; }));
  CHECK(order == "pd");  // the caller is outside of the context
  context.run();
  CHECK(order == "pdx");
}

TEST_CASE("a callable without any executor goes to the current one") {
  beck::io_context context;
  std::string order;
  beck::post(context, [&] {
    beck::post([&] { order += 'p'; });
    beck::defer([&] { order += 'd'; });
    beck::dispatch([&] { order += 'x'; });
    order += '-';
  });
  context.run();
  CHECK(order == "x-pd");
}

TEST_CASE("a callable for an empty executor ends the program with a message") {
  const beck::any_io_executor none;
  const auto names_it = [](const std::string& message) {
    return message.find("with an empty executor") != std::string::npos;
  };
  CHECK(names_it(dies_with([&] { beck::post(none, [] {}); })));
  CHECK(names_it(dies_with([&] { beck::dispatch(none, [] {}); })));
  CHECK(names_it(dies_with([&] { beck::defer(none, [] {}); })));
  CHECK(names_it(dies_with([&] { none.execute([] {}); })));
  CHECK(names_it(dies_with([&] { beck::dispatch(beck::bind_executor(none, [] {})); })));
  // One that has an executor of its own goes there.
  beck::io_context context;
  bool ran = false;
  beck::post(none, beck::bind_executor(context.get_executor(), [&] { ran = true; }));
  CHECK(context.run() == 1);
  CHECK(ran);
}

TEST_CASE("the memory of a posted callable comes from its allocator and is free when it runs") {
  beck::io_context context;
  allocator_counts counts;
  bool free_before_the_call = false;
  beck::post(context, beck::bind_allocator(counting_allocator<>(counts),
                                           [&] { free_before_the_call = counts.live == 0; }));
  CHECK(counts.live == 1);
  context.run();
  CHECK(free_before_the_call);
  CHECK(counts.allocations == 1);
}

TEST_CASE("a post without memory is an exception, and the callable is destroyed un-run (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  handler_life life;
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(beck::post(context, large_tracked(life, [] {})), std::bad_alloc);
    CHECK(fault.fired());
  }
  CHECK(life.live == 0);
  CHECK(context.run() == 0);
  context.restart();
  beck::post(context, large_tracked(life, [] {}));
  CHECK(context.run() == 1);
  CHECK(life.calls == 1);
}

TEST_CASE("awaiting a post lets what was queued before run first") {
  beck::io_context context;
  std::string order;
  run_task(context, [&]() -> beck::task<> {
    beck::post(context, [&] { order += 'a'; });
    co_await beck::post(context);
    order += 'b';
    beck::post(context, [&] { order += 'c'; });
    co_await beck::defer(context);
    order += 'd';
  });
  CHECK(order == "abcd");
}

TEST_CASE("awaiting a post on the own executor takes one queue hop and no memory") {
  beck::io_context context;
  constexpr int rounds = 1000;
  run_task(context, [&]() -> beck::task<> {
    const auto executor = co_await beck::this_coro::executor;
    const beck::context_stats before = context.stats();
    const auto memory = allocations();
    const auto misses = beck::detail::block_misses();
    for (int i = 0; i < rounds; ++i) co_await beck::post(context);
    for (int i = 0; i < rounds; ++i) co_await beck::post(executor, beck::deferred);
    for (int i = 0; i < rounds; ++i) co_await beck::post(context, beck::use_awaitable);
    for (int i = 0; i < rounds; ++i) co_await beck::post(context, beck::as_tuple);
    CHECK(allocations() == memory);
    CHECK(beck::detail::block_misses() == misses);
    const beck::context_stats after = context.stats();
    CHECK(after.delivered - before.delivered == 4 * rounds);
    // an iteration puts one mark in the queue, which is an entry, too
    const std::uint64_t marks_max = after.iterations - before.iterations + 1;
    CHECK(after.entries_run - before.entries_run <= 4 * rounds + marks_max);
  });
}

TEST_CASE("awaiting a post on another executor passes through it and continues at home") {
  beck::io_context home;
  manual_queue other;
  bool over = false;
  beck::co_spawn(
      home,
      [&]() -> beck::task<> {
        co_await beck::post(other.executor());
        CHECK(home.get_executor().running_in_this_thread());
        over = true;
      },
      beck::detached);
  CHECK(home.poll() != 0);
  CHECK_FALSE(home.stopped());  // the coroutine that is away counts as work
  CHECK(other.run() == 1);
  CHECK_FALSE(over);
  home.run();
  CHECK(over);
}

TEST_CASE(
    "a coroutine that is away when its context dies is destroyed, and its entry does nothing") {
  manual_queue other;
  auto witness = std::make_shared<int>(0);
  {
    beck::io_context home;
    beck::co_spawn(
        home, [&, witness]() -> beck::task<> { co_await beck::post(other.executor()); },
        beck::detached);
    home.poll();
    CHECK(other.queued() == 1);
    other = manual_queue();  // what is queued there is dropped while the frame still lives
    CHECK(witness.use_count() == 2);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE("awaiting a dispatch inside its executor continues at once until the budget is spent") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    co_await beck::post(context);  // a fresh budget
    const auto before = context.stats();
    for (unsigned i = 0; i < beck::detail::runner::budget_per_entry; ++i)
      co_await beck::dispatch(context);
    CHECK(context.stats().delivered == before.delivered);
    co_await beck::dispatch(context);
    CHECK(context.stats().delivered == before.delivered + 1);
    CHECK(context.stats().budget_stops == before.budget_stops + 1);
  });
}

TEST_CASE("a loop around an awaited dispatch does not starve others (K4)") {
  beck::io_context context;
  bool stop = false;
  bool first_round_over = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        while (!stop) co_await beck::dispatch(context);
        first_round_over = true;
      },
      beck::detached);
  beck::post(context, [&] { stop = true; });
  context.run();
  CHECK(first_round_over);
}

TEST_CASE("tokens for post: deferred is inert, a tuple token is given an empty tuple") {
  beck::io_context context;
  int calls = 0;
  auto operation = beck::post(context, beck::deferred);
  CHECK(context.poll() == 0);
  context.restart();
  std::move(operation)([&] { ++calls; });
  beck::post(context, beck::as_tuple([&](std::tuple<>) { ++calls; }));
  beck::post(context, beck::detached);
  context.run();
  CHECK(calls == 2);
}
