// SPDX-License-Identifier: BSL-1.0
// deferred(function), deferred.values, deferred.when and `|`: results, branches, places, memory,
// cancellation, exceptions and lost handlers.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/deferred_chain.hpp>
#include <beck/interop/parallel_group.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "interop/group_operations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::cancellation_type;
using beck::deferred;
using beck::error_code;
using beck::test::allocator_counts;
using beck::test::at_once;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::manual;
using beck::test::manual_queue;
using beck::test::manual_state;
using beck::test::never;
using beck::test::run_task;
using beck::test::tracked;

namespace {

// Waits for the timer, then completes with what `next` makes of the error.
template <class Next>
auto wait_and(beck::steady_timer& timer, Next next) {
  return timer.async_wait(deferred(std::move(next)));
}

}  // namespace

TEST_CASE("a function goes on with another operation, whose results are those of the chain") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  manual_state state;
  handler_life life;
  int asked = 0;
  auto chain = timer.async_wait(deferred([&](error_code ec) {
    CHECK_FALSE(ec);
    ++asked;
    return manual(context, state);
  }));
  static_assert(std::is_same_v<beck::completion_signature_of_t<decltype(chain)>,
                               void(error_code, std::string)>);
  auto moved = std::move(chain);
  context.poll();
  CHECK(asked == 0);  // it has not started
  std::move(moved)(tracked(life, [](error_code ec, std::string text) {
    CHECK(ec == beck::error::eof);
    CHECK(text == "last");
  }));
  context.restart();
  context.run_one_for(1s);
  CHECK(asked == 1);
  CHECK(life.calls == 0);
  manual::end(state, beck::error::eof, "last");
  context.restart();
  context.run();
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("links are added by calls and by a bar, to values, operations and branches") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  int waits = 0;
  const auto first = deferred([](beck::steady_timer* t) {
    t->expires_after(0s);
    return t->async_wait(beck::append(deferred, t));
  });
  const auto second = deferred([&waits](error_code ec, beck::steady_timer* t) {
    ++waits;
    return deferred.when(!ec).then(t->async_wait(deferred)).otherwise(deferred.values(ec));
  });
  const auto third = deferred([&waits](error_code ec) {
    ++waits;
    return deferred.when(!ec).then(deferred.values(42)).otherwise(deferred.values(0));
  });
  int sum = 0;
  const auto add = [&sum](int n) { sum += n; };
  SUBCASE("calls") { deferred.values (&timer)(first)(second)(third)(add); }
  SUBCASE("bars") { deferred.values(&timer) | first | second | third | add; }
  SUBCASE("as a token within a token") {
    const auto with_value = deferred([&](error_code ec, int n) {
      ++waits;
      return deferred.values(ec ? 0 : n);
    });
    const auto take = [&](std::string text, int n) {
      CHECK(text == "text");
      add(n);
    };
    deferred.values(&timer) | first | second | beck::append(with_value, 42) |
        beck::prepend(take, std::string("text"));
  }
  CHECK(sum == 0);
  context.run();
  CHECK(waits == 2);
  CHECK(sum == 42);
}

TEST_CASE("the branch that is not chosen never starts, and its results convert to the other's") {
  beck::io_context context;
  manual_state state;
  int calls = 0;
  const auto choose = [&](bool wait) {
    deferred.values(wait)(deferred([&](bool now) {
      return deferred.when(now)
          .then(manual(context, state))
          .otherwise(deferred.values(beck::error::eof, "no wait"));
    }))([&](auto ec, auto text) {
      static_assert(std::is_same_v<decltype(text), std::string>);
      CHECK(ec == beck::error::eof);
      CHECK(text == "no wait");
      ++calls;
    });
  };
  choose(false);
  context.run();
  CHECK_FALSE(state.done);
  CHECK(calls == 1);
  choose(true);
  context.restart();
  context.poll();
  CHECK(calls == 1);
  manual::end(state, beck::error::eof, "no wait");
  context.restart();
  context.run();
  CHECK(calls == 2);
}

TEST_CASE("a choice is an operation of its own, on the executor of its branch") {
  beck::io_context context;
  manual_state state;
  handler_life life;
  auto one =
      deferred.when(true).then(manual(context, state)).otherwise(never() | deferred([](error_code) {
                                                                   return deferred.values(
                                                                       error_code(), std::string());
                                                                 }));
  beck::make_parallel_group(std::move(one), deferred.values(1))
      .async_wait(beck::wait_for_all(),
                  tracked(life, [](auto, error_code, std::string text, int n) {
                    CHECK(text == "end");
                    CHECK(n == 1);
                  }));
  context.poll();
  manual::end(state, {}, "end");
  context.restart();
  context.run();
  CHECK(life.calls == 1);
}

TEST_CASE("a chain is awaited as every operation, with and without exceptions") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::steady_timer timer(context, 0s);
    const auto give = [](error_code ec) { return deferred.values(ec, 7); };
    const auto fail = [](error_code) { return deferred.values(error_code(beck::error::eof), 7); };
    const beck::io_result<int> plain = co_await wait_and(timer, give);
    CHECK(*plain == 7);
    const int value = co_await wait_and(timer, give)(beck::use_awaitable);
    CHECK(value == 7);
    const std::tuple<error_code, int> both = co_await wait_and(timer, fail)(beck::as_tuple);
    CHECK(std::get<0>(both) == beck::error::eof);
    bool caught = false;
    try {
      beck::ignore(co_await wait_and(timer, fail)(beck::use_awaitable));
    } catch (const beck::io_error& e) {
      caught = e.code() == beck::error::eof;
    }
    CHECK(caught);
    // A token that adapts the result stands between an operation and a function, too.
    const int n = co_await timer.async_wait(beck::as_tuple(deferred(
        [](std::tuple<error_code> t) { return deferred.values(std::get<0>(t) ? 0 : 3); })));
    CHECK(n == 3);
  });
}

TEST_CASE("awaited values are there without a suspension") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    co_await beck::post(context);
    const auto before = context.stats();
    const int one = co_await deferred.values(1);
    const auto [a, b, c] = co_await deferred.values(1, 2, 3);
    const int four =
        co_await (deferred.values(3) | deferred([](int n) { return deferred.values(n + 1); }));
    CHECK(one + a + b + c + four == 11);
    CHECK(context.stats().delivered == before.delivered);
  });
}

TEST_CASE("values that can only be moved pass through functions that can only be moved") {
  beck::io_context context;
  int calls = 0;
  deferred.values(std::make_unique<int>(1))(
      deferred([own = std::make_unique<int>(2)](std::unique_ptr<int> value) {
        *value += *own;
        return deferred.values(std::move(value));
      }))([&](std::unique_ptr<int> value) {
    CHECK(*value == 3);
    ++calls;
  });
  CHECK(calls == 1);
}

TEST_CASE("the handler of a chain is not called inside the call that starts it") {
  beck::io_context context;
  int functions = 0;
  int calls = 0;
  const auto next = [&](int n) {
    ++functions;
    return deferred.values(n + 1);
  };
  const auto nested = [&](int n) { return deferred.values(n) | deferred(next); };
  const auto inside = [](auto done) { std::move(done)(1); };
  const auto at_start =
      beck::async_initiate<const beck::deferred_t, void(int)>(inside, beck::deferred);
  beck::post(context, [&] {
    const auto note = [&](int n) {
      CHECK(n == 3);
      ++calls;
    };
    deferred.values(1) | deferred(next) | deferred(next) | note;
    CHECK(functions == 2);
    deferred.values(1) | deferred(nested) | deferred(next) | note;
    CHECK(functions == 4);
    auto started = at_start;
    std::move(started) | deferred(next) | deferred(next) | note;
    CHECK(functions == 6);
    CHECK(calls == 0);
  });
  context.run();
  CHECK(calls == 3);
}

TEST_CASE("values reach a handler through its executor, or at once where there is none") {
  manual_queue queue;
  beck::io_context context;
  int calls = 0;
  const auto note = [&](int n) {
    CHECK(n == 4);
    ++calls;
  };
  SUBCASE("its executor") {
    deferred.values(4)(beck::bind_executor(queue.executor(), note));
    CHECK(calls == 0);
    CHECK(queue.run() == 1);
  }
  SUBCASE("the current executor") {
    beck::post(context, [&] {
      deferred.values(4)(note);
      CHECK(calls == 0);
    });
    context.run();
  }
  SUBCASE("an immediate executor") {
    beck::post(context, [&] {
      deferred.values(4)(beck::bind_immediate_executor(context, note));
      CHECK(calls == 1);
    });
    context.run();
  }
  SUBCASE("none") { deferred.values(4)(note); }
  CHECK(calls == 1);
  CHECK(queue.work() == 0);
}

TEST_CASE("each step runs on the executor of the final handler") {
  beck::io_context context;
  manual_queue queue;
  beck::steady_timer timer(context, 0s);
  int steps = 0;
  const auto again = [&](error_code) {
    ++steps;
    return timer.async_wait(deferred);
  };
  bool over = false;
  (timer.async_wait(deferred) | deferred(again) |
   deferred(again))(beck::bind_executor(queue.executor(), [&](error_code) { over = true; }));
  for (int step = 0; step < 3; ++step) {
    context.restart();
    context.run_one_for(1s);
    CHECK(steps == step);
    CHECK(queue.work() != 0);
    CHECK(queue.run() == 1);
  }
  CHECK(steps == 2);
  CHECK(over);
  CHECK(queue.work() == 0);
}

TEST_CASE("a step has the memory of the final handler, freed before the next one starts") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  allocator_counts counts;
  int calls = 0;
  const auto again = [&](error_code) {
    CHECK(counts.live == 0);
    return timer.async_wait(deferred);
  };
  const auto end = [&](error_code ec) {
    CHECK(counts.live == 0);
    return deferred.values(ec);
  };
  (timer.async_wait(deferred) | deferred(again) |
   deferred(end))(beck::bind_allocator(counting_allocator<>(counts), [&](error_code ec) {
    CHECK_FALSE(ec);
    CHECK(counts.live == 0);
    ++calls;
  }));
  CHECK(counts.allocations == 1);
  context.run();
  CHECK(calls == 1);
  CHECK(counts.allocations == 2);
}

TEST_CASE("a request to cancel reaches the operation that runs then, and no other") {
  beck::io_context context;
  manual_state a;
  manual_state b;
  beck::cancellation_signal signal;
  handler_life life;
  (manual(context, a) | deferred([&](error_code ec, std::string) {
     CHECK(ec == (a.requests == 0 ? error_code() : beck::error::operation_aborted));
     return manual(context, b);
   }))(beck::bind_cancellation_slot(signal.slot(), tracked(life, [&](error_code ec, std::string) {
                                      CHECK(ec == beck::error::operation_aborted);
                                    })));
  context.poll();
  SUBCASE("the first") {
    signal.emit(cancellation_type::all);
    CHECK(a.requests == 1);
    context.restart();
    context.poll();
    CHECK(b.requests == 0);  // the function went on regardless
    CHECK(life.calls == 0);
    signal.emit(cancellation_type::all);
    CHECK(b.requests == 1);
  }
  SUBCASE("the second") {
    manual::end(a, {}, "");
    context.restart();
    context.poll();
    signal.emit(cancellation_type::all);
    CHECK(a.requests == 0);
    CHECK(b.requests == 1);
  }
  context.restart();
  context.run();
  CHECK(life.calls == 1);
  CHECK_FALSE(signal.slot().has_handler());
}

TEST_CASE("a stop of the awaiting coroutine cancels the operation that runs then") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::steady_timer soon(context, 0s);
    beck::steady_timer late(context, 1h);
    auto chain =
        soon.async_wait(deferred) | deferred([&](error_code) { return late.async_wait(deferred); });
    auto [order, ec, first] =
        co_await beck::make_parallel_group(
            std::move(chain),
            soon.async_wait() | deferred([&](error_code) { return soon.async_wait(); }))
            .async_wait(beck::wait_for_one());
    CHECK(order[0] == 1);
    CHECK(ec == beck::error::operation_aborted);
    CHECK_FALSE(first);
  });
}

TEST_CASE("an exception of a function passes through its executor and drops the handler") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  handler_life life;
  const auto refuse = [](error_code) -> decltype(deferred.values(1)) {
    throw std::runtime_error("no");
  };
  wait_and(timer, refuse)(tracked(life, [](int) {}));
  CHECK(life.live == 1);
  CHECK_THROWS_AS(context.run(), std::runtime_error);
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
  context.restart();
  CHECK(context.run() == 0);  // no work is left
  const auto at_start = deferred.values(error_code())(deferred(refuse));
  CHECK_THROWS_AS(std::move(const_cast<std::remove_const_t<decltype(at_start)>&>(at_start))(
                      tracked(life, [](int) {})),
                  std::runtime_error);
  CHECK(life.live == 0);
}

TEST_CASE("a handler that the first operation drops is destroyed, and no function is called") {
  beck::io_context context;
  handler_life life;
  auto witness = std::make_shared<int>(0);
  (never() | deferred([witness](error_code) {
     FAIL_CHECK("called");
     return deferred.values(1);
   }))(beck::bind_executor(context, tracked(life, [](int) {})));
  context.run();
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
  CHECK(witness.use_count() == 1);
}

TEST_CASE("a function is not called inside the start of an operation that never calls there") {
  beck::io_context context;
  bool started = false;
  int calls = 0;
  const auto check = deferred([&](int n) {
    CHECK(started);
    ++calls;
    return deferred.values(n);
  });
  // Both would call a handler inside their start if it only kept a result.
  auto composed = beck::async_compose<const beck::deferred_t, void(int)>(
      [](auto& self) { self.complete(1); }, deferred, context);
  beck::make_parallel_group(std::move(composed) | check, at_once(2) | check)
      .async_wait(beck::wait_for_all(), beck::bind_executor(context, [&](auto, int a, int b) {
                    CHECK(a + b == 3);
                    ++calls;
                  }));
  started = true;
  context.run();
  CHECK(calls == 3);
}

TEST_CASE("a chain knows the executor of its first operation, however that is packaged") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  handler_life life;
  const auto value = deferred([](error_code, int n) { return deferred.values(n); });
  // The group starts outside of every context, and its handler has no executor.
  beck::make_parallel_group(timer.async_wait(beck::append(deferred, 1)) | value,
                            timer.async_wait(beck::append(deferred, 2))(value))
      .async_wait(beck::wait_for_all(), tracked(life, [](auto, int a, int b) {
                    CHECK(a == 1);
                    CHECK(b == 2);
                  }));
  context.run();
  CHECK(life.calls == 1);
}

TEST_CASE("deferred returns an operation as it is") {
  beck::io_context context;
  beck::steady_timer timer(context, 0s);
  auto wait = deferred(timer.async_wait());
  static_assert(std::is_same_v<decltype(wait), decltype(timer.async_wait())>);
  int calls = 0;
  std::move(wait) | [&](error_code) { ++calls; };
  context.run();
  CHECK(calls == 1);
}
