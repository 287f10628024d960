// SPDX-License-Identifier: BSL-1.0
// Parallel groups: results, orders, conditions, cancellation from inside and outside, operations
// that end or throw as they start, and ends of contexts.
#include <doctest/doctest.h>
#include <array>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/interop/parallel_group.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/op.hpp>
#include <beck/run/thread_pool.hpp>
#include <beck/testing/memory.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "interop/group_operations.hpp"
#include "support/handlers.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::cancellation_type;
using beck::error_code;
using beck::make_parallel_group;
using beck::test::at_once;
using beck::test::fragile_condition;
using beck::test::handler_life;
using beck::test::manual;
using beck::test::manual_state;
using beck::test::move_only;
using beck::test::never;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::tracked;

namespace {

using order_of_two = std::array<std::size_t, 2>;

}  // namespace

TEST_CASE("a group completes with the order of the ends and the results of all") {
  beck::io_context context;
  stream_pair pair(context);
  beck::steady_timer timer(context, 0s);
  char data[8];
  handler_life life;
  make_parallel_group(pair.b.async_read_some(beck::buffer(data)), timer.async_wait())
      .async_wait(beck::wait_for_all(), tracked(life, [](order_of_two order, error_code read,
                                                         std::size_t n, error_code waited) {
                    CHECK(order == order_of_two{1, 0});
                    CHECK_FALSE(read);
                    CHECK(n == 3);
                    CHECK_FALSE(waited);
                  }));
  context.poll();
  context.run_one_for(1s);  // the timer
  pair.a.async_write_some(beck::buffer("abc", 3), beck::detached);
  context.run();
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("a group is awaited as one operation, whose members are cancelled by the first end") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::steady_timer late(context, 1h);
    beck::steady_timer soon(context, 0s);
    auto [order, first, second] = co_await make_parallel_group(late.async_wait(), soon.async_wait())
                                      .async_wait(beck::wait_for_one());
    CHECK(order == order_of_two{1, 0});
    CHECK(first == beck::error::operation_aborted);
    CHECK_FALSE(second);
  });
}

TEST_CASE("conditions tell success from failure") {
  beck::io_context context;
  manual_state a;
  manual_state b;
  manual_state c;
  int calls = 0;
  const auto group = [&](auto condition) {
    make_parallel_group(manual(context, a), manual(context, b), manual(context, c))
        .async_wait(condition, [&](auto, error_code, std::string, error_code, std::string,
                                   error_code, std::string) { ++calls; });
    context.restart();
    context.poll();
  };
  SUBCASE("one success") {
    group(beck::wait_for_one_success());
    manual::end(a, beck::error::eof, "");
    context.poll();
    CHECK(b.requests + c.requests == 0);
    manual::end(b, {}, "good");
    context.poll();
    CHECK(a.requests == 0);  // it has ended
    CHECK(c.requests == 1);
  }
  SUBCASE("one error") {
    group(beck::wait_for_one_error());
    manual::end(a, {}, "good");
    context.poll();
    CHECK(b.requests + c.requests == 0);
    manual::end(b, beck::error::eof, "");
    context.poll();
    CHECK(c.requests == 1);
  }
  SUBCASE("all") {
    group(beck::wait_for_all());
    manual::end(a, beck::error::eof, "");
    manual::end(b, {}, "");
    context.poll();
    CHECK(c.requests == 0);
    CHECK(calls == 0);
    manual::end(c, {}, "");
    context.poll();
  }
  SUBCASE("one, with the request that it names") {
    group(beck::wait_for_one(cancellation_type::none));
    manual::end(a, {}, "");
    context.poll();
    CHECK(b.requests + c.requests == 0);
    manual::end(b, {}, "");
    manual::end(c, {}, "");
    context.poll();
  }
  CHECK(calls == 1);
}

TEST_CASE("the others are asked once, however many end") {
  beck::io_context context;
  manual_state a;
  manual_state b;
  make_parallel_group(manual(context, a), manual(context, b), at_once(1), at_once(2))
      .async_wait(beck::wait_for_one(), [](auto order, error_code, std::string, error_code,
                                           std::string, int one, int two) {
        CHECK(order[0] == 2);
        CHECK(order[1] == 3);
        CHECK(one + two == 3);
      });
  context.run();
  CHECK(a.requests == 1);
  CHECK(b.requests == 1);
}

TEST_CASE("an operation that ends inside its start cancels those that start behind it, too") {
  beck::io_context context;
  manual_state a;
  int calls = 0;
  auto at_start = beck::async_initiate<const beck::deferred_t, void(error_code)>(
      [](auto done) { std::move(done)(error_code()); }, beck::deferred);
  make_parallel_group(std::move(at_start), manual(context, a))
      .async_wait(beck::wait_for_one(),
                  beck::bind_executor(
                      context, [&](order_of_two order, error_code, error_code ec, std::string) {
                        CHECK(order == order_of_two{0, 1});
                        CHECK(ec == beck::error::operation_aborted);
                        ++calls;
                      }));
  CHECK(calls == 0);
  context.run();
  CHECK(a.requests == 1);
  CHECK(calls == 1);
}

TEST_CASE("a group completes on the executor of the first operation that has one") {
  beck::io_context context;
  manual_state a;
  handler_life life;
  make_parallel_group(at_once(1), manual(context, a))
      .async_wait(beck::wait_for_one(),
                  tracked(life, [](order_of_two, int, error_code, std::string) {}));
  context.run();
  CHECK(life.calls == 1);
}

TEST_CASE("results that can only be moved pass through a group") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    auto [order, e1, one, e2, two] =
        co_await make_parallel_group(move_only(1), move_only(2)).async_wait(beck::wait_for_all());
    CHECK(*one + *two == 3);
    std::vector<move_only> all;
    all.emplace_back(3);
    auto [orders, errors, values] =
        co_await make_parallel_group(all).async_wait(beck::wait_for_all());
    CHECK(*values[0] == 3);
  });
}

TEST_CASE("no end is taken while a group starts, wherever its executor runs") {
  beck::io_context context;
  manual_state a;
  bool has_started = false;
  int asked = 0;
  auto condition = [&](const auto&...) {
    CHECK(has_started);
    ++asked;
    return cancellation_type::none;
  };
  beck::io_context home;
  auto ends = beck::async_initiate<const beck::deferred_t, void()>(
      [&](auto done) {
        manual::end(a, {}, "");  // on `home`, which another thread might run
        home.poll();
        has_started = true;
        std::move(done)();
      },
      beck::deferred);
  handler_life life;
  make_parallel_group(manual(context, a), std::move(ends))
      .async_wait(
          condition,
          beck::bind_executor(home, tracked(life, [](order_of_two, error_code, std::string) {})));
  home.restart();
  home.run();
  CHECK(asked == 2);
  CHECK(life.calls == 1);
}

TEST_CASE("an operation that has ended gets no request, although it listens still") {
  beck::io_context context;
  manual_state a;
  int requests = 0;
  auto listens_on = beck::async_initiate<const beck::deferred_t, void(error_code)>(
      [&requests](auto done) {
        beck::get_associated_cancellation_slot(done).assign(
            [&requests](cancellation_type) { ++requests; });
        std::move(done)(error_code());
      },
      beck::deferred);
  make_parallel_group(std::move(listens_on), manual(context, a))
      .async_wait(
          beck::wait_for_one(),
          beck::bind_executor(context, [](order_of_two, error_code, error_code, std::string) {}));
  context.run();
  CHECK(a.requests == 1);
  CHECK(requests == 0);
}

TEST_CASE("a range of operations completes with vectors") {
  beck::io_context context;
  std::vector<manual_state> states(3);
  std::vector<manual> all;
  for (manual_state& one : states) all.emplace_back(context, one);
  int calls = 0;
  make_parallel_group(std::move(all))
      .async_wait(beck::wait_for_all(),
                  [&](std::vector<std::size_t> order, std::vector<error_code> errors,
                      std::vector<std::string> texts) {
                    CHECK(order == std::vector<std::size_t>{2, 0, 1});
                    CHECK(errors[1] == beck::error::eof);
                    CHECK_FALSE(errors[0]);
                    CHECK(texts == std::vector<std::string>{"a", "b", "c"});
                    ++calls;
                  });
  manual::end(states[2], {}, "c");
  manual::end(states[0], {}, "a");
  manual::end(states[1], beck::error::eof, "b");
  context.run();
  CHECK(calls == 1);
  CHECK_THROWS_WITH_AS(beck::ignore(make_parallel_group(std::vector<manual>())),
                       "beck::make_parallel_group: the range is empty", std::invalid_argument);
}

TEST_CASE("a range is awaited") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    std::vector<at_once> all;
    all.emplace_back(5);
    all.emplace_back(6);
    auto [order, values] = co_await make_parallel_group(all).async_wait(beck::wait_for_all());
    CHECK(order == std::vector<std::size_t>{0, 1});
    CHECK(values == std::vector<int>{5, 6});
  });
}

TEST_CASE("a request through the slot of the handler, and a stop of the scope, reach all members") {
  beck::io_context context;
  manual_state a;
  manual_state b;
  SUBCASE("slot") {
    beck::cancellation_signal signal;
    int calls = 0;
    make_parallel_group(manual(context, a), manual(context, b))
        .async_wait(beck::wait_for_all(),
                    beck::bind_cancellation_slot(signal.slot(),
                                                 [&](order_of_two, error_code first, std::string,
                                                     error_code second, std::string) {
                                                   CHECK(first == beck::error::operation_aborted);
                                                   CHECK(second == beck::error::operation_aborted);
                                                   ++calls;
                                                 }));
    context.poll();
    signal.emit(cancellation_type::terminal);
    context.restart();
    context.run();
    CHECK(calls == 1);
    signal.emit(cancellation_type::terminal);  // nobody listens any more
  }
  SUBCASE("scope") {
    run_task(context, [&]() -> beck::task<> {
      auto inside = [&]() -> beck::task<error_code> {
        auto [order, first, t1, second, t2] =
            co_await make_parallel_group(manual(context, a), manual(context, b))
                .async_wait(beck::wait_for_all());
        co_return second;
      };
      beck::ignore(co_await beck::timeout(inside(), 1ms));
    });
  }
  CHECK(a.requests == 1);
  CHECK(b.requests == 1);
}

TEST_CASE("an operation that throws as it starts ends the group, and cancels those before it") {
  beck::io_context context;
  manual_state a;
  manual_state b;
  b.throws = true;
  handler_life life;
  const auto handler = [](auto, error_code, std::string, error_code, std::string, int) {};
  CHECK_THROWS_WITH_AS(make_parallel_group(manual(context, a), manual(context, b), at_once(1))
                           .async_wait(beck::wait_for_all(), tracked(life, handler)),
                       "no start", std::runtime_error);
  CHECK(life.live == 0);
  context.run();
  CHECK(a.requests == 1);
  CHECK(life.calls == 0);
}

TEST_CASE("a condition that throws ends the group without a call") {
  beck::io_context context;
  manual_state a;
  handler_life life;
  const auto condition = [](error_code ec, const std::string&) {
    if (ec) throw std::runtime_error("no answer");
    return cancellation_type::none;
  };
  manual_state b;
  make_parallel_group(manual(context, a), manual(context, b))
      .async_wait(condition, tracked(life, [](order_of_two, error_code, std::string, error_code,
                                              std::string) {}));
  manual::end(a, beck::error::eof, "");
  CHECK_THROWS_WITH_AS(context.run(), "no answer", std::runtime_error);
  CHECK(life.live == 1);
  manual::end(b, {}, "");
  context.run();  // returns: no work is left
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
}

TEST_CASE("a condition that cannot be moved costs no memory") {
  beck::io_context context;
  const beck::testing::watched_memory memory;
  int throws = 0;
  const auto start = [&](int moves) {
    handler_life life;
    try {
      make_parallel_group(at_once(1))
          .async_wait(
              fragile_condition(moves),
              beck::bind_executor(context, tracked(life, [](std::array<std::size_t, 1>, int) {})));
    } catch (const std::runtime_error&) {
      ++throws;
    }
    context.restart();
    context.run();
    CHECK(life.live == 0);
    CHECK(memory.bytes_in_use() == 0);
  };
  for (int moves = 1; moves <= 10; ++moves) start(moves);
  CHECK((throws > 0 && throws < 10));
}

TEST_CASE("a member whose handler is destroyed makes the group end without a call") {
  beck::io_context context;
  manual_state a;
  handler_life life;
  make_parallel_group(manual(context, a), never())
      .async_wait(beck::wait_for_all(),
                  tracked(life, [](order_of_two, error_code, std::string, error_code) {}));
  context.poll();
  CHECK(life.live == 1);
  manual::end(a, {}, "");
  context.restart();
  context.run();
  CHECK(life.calls == 0);
  CHECK(life.live == 0);
}

TEST_CASE("a member whose handler is destroyed by a request may be the last of its group") {
  beck::io_context context;
  std::vector<manual_state> states(3);
  std::vector<manual> all;
  for (manual_state& one : states) all.emplace_back(context, one);
  states[0].drops = true;
  beck::cancellation_signal signal;
  handler_life life;
  make_parallel_group(std::move(all))
      .async_wait(
          beck::wait_for_all(),
          beck::bind_cancellation_slot(
              signal.slot(), tracked(life, [](std::vector<std::size_t>, std::vector<error_code>,
                                              std::vector<std::string>) {})));
  manual::end(states[1], {}, "");
  manual::end(states[2], {}, "");
  context.poll();
  signal.emit(cancellation_type::all);
  CHECK(life.live == 1);  // the loss is taken on the executor of the group
  context.restart();
  context.run();
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
}

TEST_CASE("a context that is destroyed destroys the handler of a group") {
  handler_life life;
  {
    beck::io_context context;
    beck::steady_timer one(context, 1h);
    beck::steady_timer two(context, 1h);
    make_parallel_group(one.async_wait(), two.async_wait())
        .async_wait(beck::wait_for_all(),
                    tracked(life, [](order_of_two, error_code, error_code) {}));
    context.poll();
    CHECK(life.live == 1);
  }
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
}

TEST_CASE("the members of a group on a pool do not run side by side") {
  beck::thread_pool pool(3);
  std::vector<at_once> all;
  for (int i = 0; i < 100; ++i) all.emplace_back(i);
  std::atomic<int> sum = 0;
  make_parallel_group(std::move(all))
      .async_wait(
          beck::wait_for_one(),
          beck::bind_executor(pool, [&](std::vector<std::size_t> order, std::vector<int> values) {
            CHECK(order.size() == 100);
            for (const int one : values) sum += one;
          }));
  pool.join();
  CHECK(sum == 4950);
}
