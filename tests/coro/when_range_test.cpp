// SPDX-License-Identifier: BSL-1.0
// Tasks side by side whose number is known at run time, and the race for the first success.
#include <doctest/doctest.h>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/when_range.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/thread_pool.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/scale.hpp"

using namespace std::chrono_literals;
using beck::task;

namespace {

task<int> hop(int value, int times) {
  auto executor = co_await beck::this_coro::executor;
  for (int i = 0; i < times; ++i) co_await beck::post(executor);
  co_return value;
}
task<> count_down(int& left) {
  auto executor = co_await beck::this_coro::executor;
  co_await beck::post(executor);
  --left;
}
task<int> wait_for_ever(int& stopped) {
  auto executor = co_await beck::this_coro::executor;
  beck::steady_timer timer(executor, 1h);
  const auto waited = co_await timer.async_wait();
  stopped += waited.error() == beck::error::operation_aborted ? 1 : 0;
  co_return -1;
}
task<int> fail(const char* what, int hops) {
  co_await hop(0, hops);
  throw std::runtime_error(what);
}
task<beck::io_result<int>> answer(beck::error_code ec, int value, int hops) {
  co_await hop(0, hops);
  co_return beck::io_result<int>(ec, value);
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

template <class... Tasks>
auto list(Tasks... tasks) {
  std::vector<std::common_type_t<Tasks...>> all;
  (all.push_back(std::move(tasks)), ...);
  return all;
}

}  // namespace

TEST_CASE("when_all of a range gives the values in its order") {
  beck::sync_wait([]() -> task<> {
    std::vector<task<int>> work;
    for (int i = 0; i < 50; ++i) work.push_back(hop(i, (50 - i) % 7));
    const auto values = co_await beck::when_all(std::move(work));
    REQUIRE(values.size() == 50);
    for (int i = 0; i < 50; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
    const auto none = co_await beck::when_all(std::vector<task<int>>());
    CHECK(none.empty());
    int left = 20;
    std::vector<task<>> counts;
    for (int i = 0; i < 20; ++i) counts.push_back(count_down(left));
    co_await beck::when_all(std::move(counts));
    CHECK(left == 0);
  });
}

TEST_CASE("one task is no range: it takes the other form of when_all, when_any and race") {
  beck::sync_wait([]() -> beck::task<> {
    const auto seven = []() -> beck::task<int> { co_return 7; };
    const auto all = co_await beck::when_all(seven());
    CHECK(all.get<0>() == 7);
    const auto any = co_await beck::when_any(seven());
    CHECK(any.index() == 0);
    CHECK(co_await beck::race(seven()) == 7);
  });
}

TEST_CASE("when one of a range throws, the others are stopped and the first exception comes") {
  beck::sync_wait([]() -> task<> {
    int stopped = 0;
    std::string what;
    auto work =
        list(wait_for_ever(stopped), fail("late", 9), fail("first", 3), wait_for_ever(stopped));
    try {
      beck::ignore(co_await beck::when_all(std::move(work)));
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    CHECK(what == "first");
    CHECK(stopped == 2);
  });
}

TEST_CASE("when_any of a range gives all outcomes, and who was first") {
  beck::sync_wait([]() -> task<> {
    int stopped = 0;
    auto work = list(wait_for_ever(stopped), hop(7, 3), fail("boom", 1000), hop(8, 3));
    auto r = co_await beck::when_any(std::move(work));
    REQUIRE(r.size() == 4);
    CHECK(r.index() == 1);
    CHECK(std::move(r[1]).value() == 7);
    CHECK(r[0].interrupted());
    CHECK(stopped == 1);
    CHECK(r[2].failed());
    CHECK(std::move(r[3]).value() == 8);  // it had finished all the same
  });
}

TEST_CASE("race of a range gives the first value, moved") {
  beck::sync_wait([]() -> task<> {
    const auto make = [](int value, int hops) -> task<std::unique_ptr<int>> {
      co_await hop(0, hops);
      co_return std::make_unique<int>(value);
    };
    auto work = list(make(1, 5), make(2, 2), make(3, 500));
    const auto winner = co_await beck::race(std::move(work));
    CHECK(*winner == 2);
    int left = 2;
    auto nothings = list(count_down(left), count_down(left));
    co_await beck::race(std::move(nothings));
    CHECK(left < 2);
  });
}

TEST_CASE("a race of nobody is refused, by name") {
  beck::sync_wait([]() -> task<> {
    const std::vector<task<int>> none;
    std::string text;
    for (const int which : {0, 1, 2}) {
      try {
        if (which == 0) beck::ignore(co_await beck::race(std::vector<task<int>>()));
        if (which == 1) beck::ignore(co_await beck::when_any(std::vector<task<int>>()));
        if (which == 2) beck::ignore(co_await beck::first_success(std::vector<task<int>>()));
      } catch (const std::invalid_argument& e) {
        text += e.what();
      }
    }
    CHECK(text.find("beck::race") != std::string::npos);
    CHECK(text.find("beck::when_any") != std::string::npos);
    CHECK(text.find("beck::first_success") != std::string::npos);
  });
}

TEST_CASE("first_success lets failures pass and stops the losers") {
  beck::sync_wait([]() -> task<> {
    int stopped = 0;
    auto work = list(fail("one", 0), wait_for_ever(stopped), hop(5, 4), fail("two", 1));
    const int won = co_await beck::first_success(std::move(work));
    CHECK(won == 5);
    CHECK(stopped == 1);
    const auto throwing = []() -> beck::awaitable<int> { co_return 6; };
    auto few = beck::first_success(fail("three", 0), throwing(), wait_for_ever(stopped));
    const int first = co_await std::move(few);
    CHECK(first == 6);
    CHECK(stopped == 2);
  });
}

TEST_CASE("first_success takes an io_result with an error for a failure") {
  beck::sync_wait([]() -> task<> {
    const beck::error_code refused = beck::error::connection_refused;
    auto work = list(answer(refused, 1, 0), answer({}, 2, 3), answer({}, 3, 500));
    const auto won = co_await beck::first_success(std::move(work));
    CHECK_FALSE(won.error());
    CHECK(won.value_ == 2);
    auto none = list(answer(refused, 1, 2), answer(beck::error::timed_out, 2, 1));
    beck::error_code second;
    try {
      beck::ignore(co_await beck::first_success(std::move(none)));
    } catch (const beck::all_failed& failures) {
      REQUIRE(failures.size() == 2);
      try {
        std::rethrow_exception(failures[1]);
      } catch (const beck::io_error& e) {
        second = e.code();
      }
    }
    CHECK(second == beck::error::timed_out);
  });
}

TEST_CASE("first_success fails with all errors when all have failed") {
  beck::sync_wait([]() -> task<> {
    std::exception_ptr error;
    try {
      auto work = list(fail("slow", 5), fail("fast", 0), fail("middle", 2));
      beck::ignore(co_await beck::first_success(std::move(work)));
    } catch (...) {
      error = std::current_exception();
    }
    REQUIRE(error);
    CHECK(message_of(error) == "all 3 have failed; the first: slow");
    try {
      std::rethrow_exception(error);
    } catch (const beck::all_failed& failures) {
      const beck::all_failed copy = failures;
      REQUIRE(copy.size() == 3);
      CHECK(message_of(copy[0]) == "slow");
      CHECK(message_of(copy[1]) == "fast");
      CHECK(message_of(copy[2]) == "middle");
    }
  });
}

TEST_CASE("a limit around a range stops every task and says why") {
  beck::sync_wait([]() -> task<> {
    const auto waits = []() -> beck::awaitable<int> {
      auto executor = co_await beck::this_coro::executor;
      beck::steady_timer timer(executor, 1h);
      co_await timer.async_wait();
      co_return 1;
    };
    auto all = beck::timeout(beck::when_all(list(waits(), waits())), 1ms);
    const auto ended = co_await std::move(all);
    CHECK(ended.error() == beck::error::timeout);
    auto first = beck::timeout(beck::first_success(list(waits(), waits())), 1ms);
    const auto won = co_await std::move(first);
    CHECK(won.error() == beck::error::timeout);
  });
}

TEST_CASE("ranges of tasks run side by side on a pool") {
  beck::thread_pool pool(4);
  for (int round = 0; round < beck::test::scaled(200); ++round) {
    beck::sync_wait(pool, [&]() -> task<> {
      std::vector<task<int>> work;
      std::vector<task<int>> contest;
      for (int i = 0; i < 10; ++i) {
        work.push_back(hop(i, i % 3));
        contest.push_back(i == round % 10 ? hop(i, 2) : fail("no", i % 4));
      }
      const auto values = co_await beck::when_all(std::move(work));
      int sum = 0;
      for (const int value : values) sum += value;
      CHECK(sum == 45);
      const int won = co_await beck::first_success(std::move(contest));
      CHECK(won == round % 10);
    });
  }
}

TEST_CASE("a context that goes takes the tasks of a range with it") {
  int stopped = 0;
  bool resumed = false;
  {
    beck::io_context context;
    beck::co_spawn(
        context,
        [&]() -> task<> {
          auto work = list(wait_for_ever(stopped), wait_for_ever(stopped));
          beck::ignore(co_await beck::race(std::move(work)));
          resumed = true;
        },
        beck::detached);
    context.poll();
  }
  CHECK_FALSE(resumed);
  CHECK(stopped == 0);
}
