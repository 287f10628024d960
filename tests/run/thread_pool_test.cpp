// SPDX-License-Identifier: BSL-1.0
// A pool of threads: what runs, who wakes, how it ends. tests/stress has coroutines and strands on
// it.
#include <doctest/doctest.h>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/thread_pool.hpp>
#include <beck/run/work_guard.hpp>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/dies.hpp"
#include "support/eventually.hpp"

using beck::post;
using beck::thread_pool;
using beck::test::eventually;

namespace {

/// How many threads of a pool sleep.
std::uint64_t asleep(const thread_pool& pool) {
  const beck::thread_pool::counters stats = pool.stats();
  return stats.sleeps - stats.wakeups;
}

}  // namespace

TEST_CASE("a pool runs what is posted on its own threads, and join waits for all of it") {
  thread_pool pool(3);
  std::atomic<int> ran{0};
  std::atomic<int> here{0};
  const std::thread::id main = std::this_thread::get_id();
  for (int i = 0; i < 1000; ++i) {
    post(pool, [&] {
      if (std::this_thread::get_id() == main) ++here;
      ++ran;
      post(pool, [&] { ++ran; });
    });
  }
  CHECK_FALSE(pool.get_executor().running_in_this_thread());
  pool.join();
  CHECK(ran == 2000);
  CHECK(here == 0);
  CHECK(pool.stats().delivered == 2000);
}

TEST_CASE("an executor names its pool, and its outstanding work keeps wait() from returning") {
  thread_pool pool(1);
  const thread_pool::executor_type executor = pool.executor();
  CHECK(&executor.context() == &pool);
  CHECK(executor == pool.get_executor());
  executor.on_work_started();
  std::atomic<bool> ended{false};
  std::thread other([&] {
    post(pool, [&] {
      ended = true;
      executor.on_work_finished();
    });
  });
  pool.wait();
  CHECK(ended);
  other.join();
}

TEST_CASE("the system executor names the pool of the process, and counts its work") {
  const beck::system_executor executor;
  CHECK(&executor.context() == &beck::detail::system_pool());
  executor.on_work_started();
  executor.on_work_finished();
}

TEST_CASE("the threads of a pool run at the same time") {
  thread_pool pool(3);
  std::latch all_here(3);
  for (int i = 0; i < 3; ++i) post(pool, [&] { all_here.arrive_and_wait(); });
  pool.join();
  CHECK(all_here.try_wait());
}

TEST_CASE("a pool of one thread runs in order, and dispatch inside of it runs at once") {
  thread_pool pool(1);
  std::vector<int> order;
  post(pool, [&] {
    post(pool, [&] { order.push_back(3); });
    dispatch(pool, [&] { order.push_back(1); });
    order.push_back(2);
  });
  pool.join();
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("join waits for outstanding work, which may end on any thread") {
  thread_pool pool(2);
  auto guard = beck::make_work_guard(pool);
  bool ran = false;
  std::thread late([&, guard = std::move(guard)]() mutable {
    post(guard.get_executor(), [&] { ran = true; });
    guard.reset();
  });
  pool.join();
  CHECK(ran);
  late.join();
}

TEST_CASE("stop leaves what is queued, and the pool's end destroys it un-run") {
  auto life = std::make_shared<int>(0);
  int ran = 0;
  {
    thread_pool pool(1);
    std::latch stopped(1);
    post(pool, [&] { stopped.wait(); });
    for (int i = 0; i < 1000; ++i) post(pool, [life, &ran] { ++ran; });
    pool.stop();
    stopped.count_down();
    pool.join();
  }
  CHECK(ran == 0);
  CHECK(life.use_count() == 1);
}

TEST_CASE("a thread that attaches itself runs handlers until the work has ended") {
  thread_pool pool(0);
  std::thread::id ran_on;
  auto guard = beck::make_work_guard(pool);
  post(pool, [&] {
    ran_on = std::this_thread::get_id();
    guard.reset();
    pool.stop();
  });
  pool.attach();
  CHECK(ran_on == std::this_thread::get_id());
  CHECK_FALSE(pool.get_executor().running_in_this_thread());
}

TEST_CASE("a post to a pool wakes one sleeping thread, and none while all are busy") {
  constexpr std::uint64_t threads = 3;
  std::atomic<std::uint64_t> here{0};
  std::atomic<bool> released = false;
  thread_pool pool(threads);
  for (std::uint64_t posts = 1; posts <= 50; ++posts) {
    REQUIRE(eventually([&] { return asleep(pool) == threads; }));
    post(pool, [] {});
    REQUIRE(eventually([&] { return asleep(pool) == threads; }));
    CHECK(pool.stats().wakeups == posts);
  }
  for (std::uint64_t busy = 1; busy <= threads; ++busy) {
    post(pool, [&] {
      ++here;
      eventually([&] { return released.load(); });
    });
    REQUIRE(eventually([&] { return here == busy; }));
  }
  const std::uint64_t before = pool.stats().wakeups;
  for (int i = 0; i < 1'000; ++i) post(pool, [] {});
  CHECK(pool.stats().wakeups == before);
  released = true;
  pool.join();
}

TEST_CASE("a pool's thread that leaves something behind wakes the next one for it") {
  std::atomic<int> here{0};
  std::atomic<int> met{0};
  thread_pool pool(3);
  for (int round = 1; round <= 200; ++round) {
    REQUIRE(eventually([&] { return asleep(pool) == 3; }));
    // The second post finds a thread on its way already, and wakes nobody.
    for (int i = 0; i < 2; ++i) {
      post(pool, [&, both = 2 * round] {
        ++here;
        if (eventually([&] { return here == both; })) ++met;
      });
    }
    REQUIRE(eventually([&] { return met == 2 * round; }));
  }
}

TEST_CASE("an exception of a pool's handler goes to its taker, and the pool goes on") {
  thread_pool pool(2);
  std::atomic<int> taken{0};
  pool.on_unhandled(
      [](std::exception_ptr, void* count) { ++*static_cast<std::atomic<int>*>(count); }, &taken);
  std::atomic<int> ran{0};
  post(pool, [] { throw std::runtime_error("a handler"); });
  beck::co_spawn(
      pool,
      []() -> beck::task<> {
        throw std::runtime_error("a task");
        co_return;
      },
      beck::detached);
  post(pool, [&] { ++ran; });
  pool.join();
  CHECK(taken == 2);
  CHECK(ran == 1);
}

TEST_CASE("an exception of a pool's handler that nobody takes ends the program with a message") {
  const std::string message = dies_with([] {
    thread_pool pool(1);
    post(pool, [] { throw std::runtime_error("lost"); });
    pool.join();
  });
  CHECK(message.find("a pool's handler: lost") != std::string::npos);
}

TEST_CASE("a coroutine hops between a pool and a context, and each part runs where it says") {
  thread_pool pool(2);
  beck::io_context ctx;
  bool on_pool = false;
  bool home = false;
  bool waited = false;
  auto computes = [&]() -> beck::task<int> {
    on_pool = pool.get_executor().running_in_this_thread();
    beck::steady_timer timer(ctx, beck::duration(1000));
    waited = !(co_await timer.async_wait()).error();
    on_pool = on_pool && pool.get_executor().running_in_this_thread();
    co_return 42;
  };
  auto until_both_are_done = beck::make_work_guard(pool);
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        beck::co_spawn(pool, computes, [&](std::exception_ptr, int value) {
          home = value == 42 && pool.get_executor().running_in_this_thread();
        });
        co_await post(pool);
        CHECK(ctx.get_executor().running_in_this_thread());
        until_both_are_done.reset();
      },
      beck::detached);
  auto guard = beck::make_work_guard(ctx);
  std::thread io([&] { ctx.run(); });
  pool.join();
  guard.reset();
  io.join();
  CHECK(on_pool);
  CHECK(waited);
  CHECK(home);
}

TEST_CASE("a coroutine visits a pool by awaiting co_spawn, and is back on its context then") {
  beck::io_context ctx;
  thread_pool pool(2);
  bool there = false;
  bool back = false;
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        auto computes = [&]() -> beck::task<int> {
          there = pool.get_executor().running_in_this_thread();
          co_return 42;
        };
        const int value = co_await beck::co_spawn(pool, computes, beck::use_awaitable);
        back = value == 42 && ctx.get_executor().running_in_this_thread();
      },
      beck::detached);
  ctx.run();
  CHECK(there);
  CHECK(back);
}

TEST_CASE("the system's executor is one pool, however many objects name it") {
  const beck::system_executor one;
  const beck::system_executor two;
  CHECK(one == two);
  CHECK(beck::any_io_executor(one) == beck::any_io_executor(two));
  std::latch ran(1);
  bool inside = false;
  post(one, [&] {
    inside = two.running_in_this_thread();
    ran.count_down();
  });
  ran.wait();
  CHECK(inside);
}

TEST_CASE("a pool under Asio's other name runs what is posted, and a guard is work of it") {
  beck::static_thread_pool pool(1);
  auto guard = beck::make_work_guard(pool);
  int ran = 0;
  beck::post(pool, [&] {
    ++ran;
    guard.reset();
  });
  pool.join();
  CHECK(ran == 1);
  CHECK_FALSE(guard.owns_work());
}
