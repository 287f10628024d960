// SPDX-License-Identifier: BSL-1.0
// Tasks side by side: when_all, when_any and race.
#include <doctest/doctest.h>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/allocations.hpp"

using namespace std::chrono_literals;
using beck::when_all;
using beck::when_any;

namespace {

beck::task<int> ready(int value) { co_return value; }
beck::task<> nothing() { co_return; }
beck::task<int> hop(int value, int times) {
  auto executor = co_await beck::this_coro::executor;
  for (int i = 0; i < times; ++i) co_await beck::post(executor);
  co_return value;
}
beck::task<int> wait_for_ever() {
  auto executor = co_await beck::this_coro::executor;
  beck::steady_timer timer(executor, 1h);
  const auto waited = co_await timer.async_wait();
  co_return waited.error() == beck::error::operation_aborted ? -1 : 1;
}
beck::task<int> fail(const char* what, int hops) {
  auto executor = co_await beck::this_coro::executor;
  for (int i = 0; i < hops; ++i) co_await beck::post(executor);
  throw std::runtime_error(what);
}

}  // namespace

TEST_CASE("when_all gives the values of tasks that are ready and of those that wait") {
  beck::sync_wait([]() -> beck::task<> {
    auto both = when_all(ready(1), hop(2, 5), nothing());
    auto [a, b, c] = co_await std::move(both);
    CHECK(a == 1);
    CHECK(b == 2);
    CHECK(c == beck::detail::void_result());
    auto one = co_await when_all(ready(3));
    CHECK(one.get<0>() == 3);
  });
}

TEST_CASE("when_all moves values that cannot be copied") {
  beck::sync_wait([]() -> beck::task<> {
    const auto make = [](int value) -> beck::task<std::unique_ptr<int>> {
      co_return std::make_unique<int>(value);
    };
    auto pack = co_await when_all(make(1), make(2));
    CHECK(*pack.get<0>() == 1);
    CHECK(*std::move(pack).get<1>() == 2);
  });
}

TEST_CASE("when_all takes operations as well") {
  beck::sync_wait([]() -> beck::task<> {
    auto executor = co_await beck::this_coro::executor;
    beck::steady_timer timer(executor, 1us);
    auto [waited, value] = co_await when_all(timer.async_wait(), ready(4));
    CHECK_FALSE(waited.error());
    CHECK(value == 4);
  });
}

TEST_CASE("when one of when_all throws the others are stopped and the first exception comes") {
  beck::sync_wait([]() -> beck::task<> {
    std::string what;
    int ended = 0;
    const auto counted = [&]() -> beck::task<int> {
      const int v = co_await wait_for_ever();
      ++ended;
      co_return v;
    };
    try {
      auto all = when_all(counted(), fail("late", 9), fail("first", 3), counted());
      beck::ignore(co_await std::move(all));
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    CHECK(what == "first");
    CHECK(ended == 2);
  });
}

TEST_CASE("when_all of two ready tasks allocates their frames only") {
  beck::sync_wait([]() -> beck::task<> {
    for (int i = 0; i < 100; ++i) {
      auto [a, b] = co_await when_all(ready(i), ready(i));
      CHECK(a == b);
    }
    const auto before = beck::test::allocations();
    const auto [a, b] = co_await when_all(ready(1), ready(2));
    CHECK(a + b == 3);
    CHECK(beck::test::allocations() <= before + 2);
  });
}

TEST_CASE("when_any stops the losers and waits for them") {
  beck::sync_wait([]() -> beck::task<> {
    auto any = when_any(wait_for_ever(), hop(7, 3), wait_for_ever());
    auto r = co_await std::move(any);
    CHECK(r.index() == 1);
    CHECK_FALSE(r.get<1>().interrupted());
    CHECK(std::move(r).get<1>().value() == 7);
    CHECK(r.get<0>().interrupted());
    CHECK(std::move(r).get<0>().value() == -1);
  });
}

TEST_CASE("a loser of when_any that had finished is returned whole") {
  beck::sync_wait([]() -> beck::task<> {
    auto any = when_any(hop(1, 2), hop(2, 2));
    auto r = co_await std::move(any);
    CHECK(r.index() == 0);
    CHECK_FALSE(r.get<1>().interrupted());
    CHECK(std::move(r).get<1>().value() == 2);
  });
}

TEST_CASE("when_any whose first branch is ready never suspends, and starts the others stopped") {
  beck::sync_wait([]() -> beck::task<> {
    auto any = when_any(ready(1), wait_for_ever());
    auto r = co_await std::move(any);
    CHECK(r.index() == 0);
    CHECK(r.get<1>().interrupted());
  });
}

TEST_CASE("an exception of a branch stays in its outcome") {
  beck::sync_wait([]() -> beck::task<> {
    auto any = when_any(fail("boom", 1), wait_for_ever());
    auto r = co_await std::move(any);
    CHECK(r.index() == 0);
    CHECK(r.get<0>().failed());
    CHECK_THROWS_AS(static_cast<void>(std::move(r).get<0>().value()), std::runtime_error);
  });
}

TEST_CASE("race gives the first value") {
  beck::sync_wait([]() -> beck::task<> {
    auto contest = beck::race(wait_for_ever(), hop(5, 2), hop(6, 50));
    const int winner = co_await std::move(contest);
    CHECK(winner == 5);
  });
}

TEST_CASE("a time limit around when_all stops every branch") {
  beck::sync_wait([]() -> beck::task<> {
    auto all = beck::timeout(when_all(wait_for_ever(), wait_for_ever()), 1ms);
    auto [a, b] = co_await std::move(all);
    CHECK(a == 1);  // its wait ended with timeout, not operation_aborted
    CHECK(b == 1);
  });
}

TEST_CASE("branches nest deeply without a deep stack") {
  const auto tree = [](auto& self, int depth) -> beck::task<int> {
    if (depth == 0) co_return 1;
    auto both = when_all(self(self, depth - 1), ready(1));
    auto [below, one] = co_await std::move(both);
    co_return below + one;
  };
  CHECK(beck::sync_wait([&]() -> beck::task<int> { return tree(tree, 2000); }) == 2001);
}

TEST_CASE("a context that goes takes suspended branches with it") {
  bool resumed = false;
  {
    beck::io_context ctx;
    co_spawn(
        ctx,
        [&]() -> beck::task<> {
          auto all = when_all(wait_for_ever(), when_any(wait_for_ever(), wait_for_ever()));
          beck::ignore(co_await std::move(all));
          resumed = true;
        },
        beck::detached);
    ctx.poll();
  }
  CHECK_FALSE(resumed);
}
