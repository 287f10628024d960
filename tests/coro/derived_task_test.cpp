// SPDX-License-Identifier: BSL-1.0
// A class derived from task is the type of a coroutine like task itself: awaited, spawned, limited
// in time, grouped. Asio's awaitable<T, Executor> can be defined so.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/when_range.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Asio's class template of two parameters.
template <class T = void, class Executor = beck::any_io_executor>
class awaitable : public beck::task<T, true> {
 public:
  using executor_type = Executor;
  awaitable(beck::task<T, true>&& base) noexcept : beck::task<T, true>(std::move(base)) {}
};

awaitable<int> give(int n) { co_return n; }
awaitable<> set(int& to, int value) { to = co_await give(value); }
awaitable<int, beck::io_context::executor_type> sum(int a, int b) {
  const int first = co_await give(a);
  co_return first + co_await give(b);
}
awaitable<> wait(beck::steady_timer& timer) { co_await timer.async_wait(); }

}  // namespace

TEST_CASE("a class derived from task is awaited and spawned") {
  static_assert(beck::detail::is_task<awaitable<int>>);
  static_assert(!beck::detail::is_task<std::string> && !beck::detail::is_task<int>);
  beck::io_context context;
  int set_to = 0;
  int summed = 0;
  beck::co_spawn(context, set(set_to, 3), beck::detached);
  beck::co_spawn(context, sum(4, 5), [&](std::exception_ptr e, int n) {
    CHECK(e == nullptr);
    summed = n;
  });
  context.run();
  CHECK(set_to == 3);
  CHECK(summed == 9);
  context.restart();
  const auto make = [&] { return set(set_to, 6); };
  beck::co_spawn(context, make, beck::detached);
  context.run();
  CHECK(set_to == 6);
  CHECK(beck::sync_wait(context, sum(1, 2)) == 3);
}

TEST_CASE("a class derived from task is limited in time and runs beside others") {
  beck::io_context context;
  beck::steady_timer never(context, 1h);
  const auto work = [&]() -> beck::task<int> {
    auto late = co_await beck::timeout(wait(never), 1ms);
    if (late.error() != beck::error::timeout) co_return 0;
    auto both = co_await beck::when_all(give(1), give(2));
    auto first = co_await beck::race(give(4), sum(2, 2));
    int grouped = 0;
    const auto body = [&](beck::task_group& group) -> beck::task<> {
      group.spawn(set(grouped, 8));
      co_return;
    };
    co_await beck::task_group::run(body);
    co_return both.get<0>() + both.get<1>() + first + grouped;
  };
  CHECK(beck::sync_wait(context, work()) == 15);
}

TEST_CASE("a range of a class derived from task is awaited together") {
  beck::io_context context;
  const auto work = [&]() -> beck::task<int> {
    std::vector<awaitable<int>> many;
    for (int n = 1; n <= 4; ++n) many.push_back(give(n));
    const auto values = co_await beck::when_all(std::move(many));
    int total = 0;
    for (const int value : values) total += value;
    co_return total;
  };
  CHECK(beck::sync_wait(context, work()) == 10);
}
