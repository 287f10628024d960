// SPDX-License-Identifier: BSL-1.0
// any_completion_handler: what it answers for the handler inside, its memory, and an operation in
// compiled code that takes every token through it.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/any_completion_handler.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/deferred.hpp>
#include <beck/run/post.hpp>
#include <memory>
#include <string>
#include <utility>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::any_completion_handler;
using beck::error_code;
using beck::test::allocation_fault;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::manual_queue;
using beck::test::run_task;
using beck::test::tracked;

namespace {

using wait_handler = any_completion_handler<void(error_code)>;

// The compiled half of an operation.
void start_wait(beck::steady_timer& timer, wait_handler done) { timer.async_wait(std::move(done)); }
template <beck::completion_token_for<void(error_code)> Token>
auto async_wait_for(beck::steady_timer& timer, Token&& token) {
  return beck::async_initiate<Token, void(error_code)>(
      [](wait_handler done, beck::steady_timer* of) { start_wait(*of, std::move(done)); }, token,
      &timer);
}

}  // namespace

TEST_CASE("any_completion_handler calls the handler once, and is empty then") {
  handler_life life;
  any_completion_handler<void(std::unique_ptr<int>, const std::string&)> handler =
      tracked(life, [](std::unique_ptr<int> own, const std::string& text) {
        CHECK(*own == 3);
        CHECK(text == "text");
      });
  CHECK(handler);
  CHECK(handler != nullptr);
  auto moved = std::move(handler);
  CHECK_FALSE(handler);
  moved(std::make_unique<int>(3), "text");
  CHECK(moved == nullptr);
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("any_completion_handler destroys a handler that is not called") {
  handler_life life;
  wait_handler a = tracked(life, [](error_code) {});
  wait_handler b = tracked(life, [](error_code) {});
  CHECK(life.live == 2);
  swap(a, b);
  a = std::move(b);
  CHECK(life.live == 1);
  a = nullptr;
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
}

TEST_CASE("any_completion_handler has the executor, the slot and the allocator of its handler") {
  beck::io_context context;
  manual_queue queue;
  beck::cancellation_signal signal;
  allocator_counts counts;
  error_code result;
  int calls = 0;
  beck::steady_timer timer(context, 1h);
  start_wait(timer, beck::bind_executor(
                        queue.executor(),
                        beck::bind_cancellation_slot(
                            signal.slot(),
                            beck::bind_allocator(counting_allocator<>(counts), [&](error_code ec) {
                              result = ec;
                              ++calls;
                            }))));
  CHECK(counts.allocations == 2);  // the handler, and the operation
  context.poll();
  signal.emit(beck::cancellation_type::all);
  context.restart();
  context.poll();
  CHECK(calls == 0);
  queue.run();
  CHECK(calls == 1);
  CHECK(result == beck::error::operation_aborted);
  CHECK(counts.live == 0);
}

TEST_CASE("a handler without properties gets those of the operation") {
  beck::io_context context;
  const wait_handler handler = [](error_code) {};
  CHECK(beck::get_associated_executor(handler, context.get_executor()) == context.get_executor());
  CHECK_FALSE(beck::get_associated_cancellation_slot(handler).is_connected());
  CHECK(beck::get_associated_executor(wait_handler(), context.get_executor()) ==
        context.get_executor());
}

TEST_CASE("a compiled operation takes every token") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  int calls = 0;
  async_wait_for(timer, [&](error_code ec) { calls += ec ? 0 : 1; });
  context.run();
  CHECK(calls == 1);
  context.restart();
  run_task(context, [&]() -> beck::task<> {
    timer.expires_after(0s);
    CHECK_FALSE((co_await async_wait_for(timer, beck::deferred)).error());
    timer.expires_after(0s);
    co_await async_wait_for(timer, beck::use_awaitable);
    timer.expires_after(0s);
    const auto [ec] = co_await async_wait_for(timer, beck::as_tuple(beck::deferred));
    CHECK_FALSE(ec);
  });
}

TEST_CASE("any_completion_handler can be posted, dispatched and deferred") {
  handler_life life;
  beck::io_context context;
  const auto handler = [&]() -> any_completion_handler<void()> { return tracked(life, [] {}); };
  beck::post(context, handler());
  beck::dispatch(context, handler());
  beck::defer(context, handler());
  CHECK(life.calls == 0);
  context.run();
  CHECK(life.calls == 3);
  beck::post(context, handler());
  CHECK(life.live == 1);  // the context destroys it
}

TEST_CASE("a handler that is called has freed its memory before") {
  allocator_counts counts;
  wait_handler handler = beck::bind_allocator(counting_allocator<>(counts),
                                              [&](error_code) { CHECK(counts.live == 0); });
  CHECK(counts.live == 1);
  handler(error_code());
}

TEST_CASE("without memory no handler is stored, and none is lost") {
  NEEDS_ALLOCATION_FAULTS();
  handler_life life;
  auto large = beck::test::large_tracked(life, [](error_code) {});
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(beck::ignore(wait_handler(std::move(large))), std::bad_alloc);
    CHECK(fault.fired());
  }
  CHECK(life.live == 1);  // `large` was not moved from
}
