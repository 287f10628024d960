// SPDX-License-Identifier: BSL-1.0
// Tasks and generators that have nothing to run (moved from, or awaited before) end the program
// with a message that says so, in every build and wherever they are given away.
#include <doctest/doctest.h>
#include <beck/coro/async_generator.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/generator.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/via.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/dies.hpp"

using namespace std::chrono_literals;
using beck::task;

namespace {

task<int> give(int n) { co_return n; }
beck::async_generator<int> count() { co_yield 1; }
beck::generator<int> numbers() { co_yield 1; }

/// What a coroutine says that does `use(t)` with a task that was moved from.
template <class Use>
std::string with_empty(Use use) {
  return dies_with([&use] {
    beck::io_context context;
    beck::co_spawn(
        context,
        [&]() -> task<> {
          task<int> t = give(1);
          const task<int> taken = std::move(t);
          co_await use(t);
        },
        beck::detached);
    context.run();
  });
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

constexpr const char* empty = "an empty task";
constexpr const char* again = "awaited before";

}  // namespace

TEST_CASE("a task that is awaited twice ends the program with a message (K6)") {
  const std::string moved =
      with_empty([](task<int>& t) -> task<> { beck::ignore(co_await std::move(t)); });
  CHECK(says(moved, empty));
  const std::string twice = dies_with([] {
    beck::sync_wait([]() -> task<> {
      task<int> t = give(1);
      beck::ignore(co_await std::move(t));
      beck::ignore(co_await std::move(t));
    });
  });
  CHECK(says(twice, again));
  const std::string in_place = dies_with([] {
    beck::sync_wait([]() -> task<> {
      task<int> t = give(1);
      beck::ignore(co_await t);
      beck::ignore(co_await t);
    });
  });
  CHECK(says(in_place, again));
}

TEST_CASE("an empty task that is spawned ends the program inside the call (K6)") {
  const std::string spawned = with_empty([](task<int>& t) -> task<> {
    beck::spawn(std::move(t));
    ::_exit(0);  // too late
    co_return;
  });
  CHECK(says(spawned, empty));
  const std::string handled = dies_with([] {
    beck::io_context context;
    task<int> t = give(1);
    const task<int> taken = std::move(t);
    beck::co_spawn(context, std::move(t), [](std::exception_ptr, int) {});
  });
  CHECK(says(handled, empty));
  const std::string finished = dies_with([] {
    beck::sync_wait([]() -> task<> {
      task<int> t = give(1);
      beck::ignore(co_await t);
      beck::spawn(std::move(t));
      ::_exit(0);
    });
  });
  CHECK(says(finished, again));
  const std::string returned = dies_with([] {
    beck::io_context context;
    task<> t = []() -> task<> { co_return; }();
    const task<> taken = std::move(t);
    beck::co_spawn(context, [&]() -> task<> { return std::move(t); }, beck::detached);
    context.run();
  });
  CHECK(says(returned, empty));
}

TEST_CASE("an empty task that is combined, limited or sent away ends the program (K6)") {
  CHECK(says(with_empty([](task<int>& t) -> task<> {
               auto all = beck::when_all(give(1), std::move(t));
               beck::ignore(co_await std::move(all));
             }),
             empty));
  CHECK(says(with_empty([](task<int>& t) -> task<> {
               auto limited = beck::timeout(std::move(t), 1h);
               beck::ignore(co_await std::move(limited));
             }),
             empty));
  CHECK(says(with_empty([](task<int>& t) -> task<> {
               beck::thread_pool pool(1);
               auto there = std::move(t).via(pool);
               beck::ignore(co_await std::move(there));
             }),
             empty));
  CHECK(says(with_empty([](task<int>& t) -> task<> {
               const auto body = [&](beck::task_group& group) -> task<> {
                 group.spawn(std::move(t));
                 co_return;
               };
               co_await beck::task_group::run(body);
             }),
             empty));
  CHECK(says(with_empty([](task<int>& t) -> task<> {
               std::vector<task<int>> all;
               all.push_back(std::move(t));
               auto window = beck::collect_windowed(1, std::move(all));
               beck::ignore(co_await std::move(window));
             }),
             empty));
}

TEST_CASE("a generator that was moved from, or that is walked twice, ends the program (K6)") {
  CHECK(says(dies_with([] {
               beck::sync_wait([]() -> task<> {
                 auto g = count();
                 const auto taken = std::move(g);
                 beck::ignore(co_await g.next());
               });
             }),
             "an empty generator"));
  CHECK(says(dies_with([] {
               auto g = numbers();
               const auto taken = std::move(g);
               for (const int n : g) static_cast<void>(n);
             }),
             "an empty generator"));
  CHECK(says(dies_with([] {
               auto g = numbers();
               for (const int n : g) static_cast<void>(n);
               for (const int n : g) static_cast<void>(n);
             }),
             "begin() was called before"));
}
