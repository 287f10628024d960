// SPDX-License-Identifier: BSL-1.0
// Coroutines on many threads: a child that is resumed on another thread while its parent still
// unwinds from starting it. What counts is ThreadSanitizer's silence and that every task ends once.
#include <doctest/doctest.h>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/op.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <thread>

#include "support/scale.hpp"

using beck::post;
using beck::task;
using beck::thread_pool;

namespace {

// A chain of frames that all suspend in the innermost one, which is resumed at once elsewhere.
task<long> hops(thread_pool& pool, int levels) {
  if (levels == 0) {
    co_await post(pool);
    co_return 1;
  }
  const long below = co_await hops(pool, levels - 1);
  if (levels % 2 == 0) co_await post(pool);
  co_return below + 1;
}

// An operation whose handler another thread calls, perhaps before its initiation has returned.
class called_elsewhere : public beck::op<called_elsewhere, void(int)> {
 public:
  explicit called_elsewhere(thread_pool& pool) noexcept : pool_(&pool) {}
  void initiate(handler done) {
    post(*pool_, [done = std::move(done)]() mutable { done(7); });
  }

 private:
  thread_pool* pool_;
};

task<long> calls(thread_pool& own, thread_pool& other, int levels) {
  if (levels == 0) co_return co_await called_elsewhere(other);
  const long below = co_await calls(own, other, levels - 1);
  co_await post(other);
  co_return below;
}

}  // namespace

TEST_CASE("children that hop on a pool finish once, while their parents unwind or later") {
  thread_pool pool(4);
  std::atomic<long> sum{0};
  const int roots = beck::test::scaled(20'000);
  for (int i = 0; i < roots; ++i) {
    beck::co_spawn(pool, [&]() -> task<> { sum += co_await hops(pool, 4); }, beck::detached);
  }
  pool.join();
  CHECK(sum == 5L * roots);
}

TEST_CASE("an operation that completes on another pool resumes its coroutine once") {
  std::atomic<long> sum{0};
  const int roots = beck::test::scaled(20'000);
  thread_pool other(2);
  thread_pool pool(3);
  for (int i = 0; i < roots; ++i) {
    beck::co_spawn(
        pool, [&]() -> task<> { sum += co_await calls(pool, other, 2); }, beck::detached);
  }
  pool.join();
  CHECK(sum == 7L * roots);
}

TEST_CASE("tasks on strands of a pool never meet") {
  thread_pool pool(4);
  const int rounds = beck::test::scaled(20'000);
  struct island {
    explicit island(thread_pool& on) : strand(make_strand(on)) {}
    beck::strand<thread_pool::executor_type> strand;
    long plain = 0;
    bool inside = false;
  };
  island islands[3] = {island(pool), island(pool), island(pool)};
  std::atomic<int> met{0};
  auto visits = [&](island& at) -> task<> {
    for (int i = 0; i < rounds / 10; ++i) {
      if (std::exchange(at.inside, true)) ++met;
      ++at.plain;
      at.inside = false;
      co_await post(pool);  // through the pool, and back home
    }
  };
  for (island& at : islands) {
    for (int i = 0; i < 10; ++i) {
      beck::co_spawn(at.strand, visits(at), beck::detached);
    }
  }
  pool.join();
  CHECK(met == 0);
  for (const island& at : islands) CHECK(at.plain == rounds / 10 * 10);
}

// A coroutine of somebody else's, which has no scope: its children run below the pool's own.
struct foreign {
  struct promise_type {
    foreign get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

TEST_CASE("children of a foreign coroutine on a pool finish once") {
  thread_pool pool(4);
  std::atomic<long> sum{0};
  const int roots = beck::test::scaled(20'000);
  auto visit = [](thread_pool& on, std::atomic<long>& into) -> foreign {
    into += co_await hops(on, 4);
  };
  for (int i = 0; i < roots; ++i) post(pool, [&] { visit(pool, sum); });
  pool.join();
  CHECK(sum == 5L * roots);
}

TEST_CASE("a task on a pool is stopped by another thread, at any moment") {
  thread_pool pool(3);
  beck::io_context ctx;
  auto guard = beck::make_work_guard(ctx);
  std::thread io([&] { ctx.run(); });
  std::atomic<int> ended{0};
  const int rounds = beck::test::scaled(500);
  for (int round = 0; round < rounds; ++round) {
    beck::stop_source source;
    auto waits = [](beck::io_context& on, thread_pool& through) -> task<> {
      co_await post(through);
      for (;;) {
        beck::steady_timer timer(on, beck::duration(50'000));
        auto result = co_await timer.async_wait();
        if (!result) co_return;
      }
    };
    beck::co_spawn(
        pool,
        [&, token = source.get_token()]() -> task<> {
          beck::ignore(co_await beck::with_stop(token, waits(ctx, pool)));
          ++ended;
        },
        beck::detached);
    for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
    source.request_stop();
  }
  pool.join();
  guard.reset();
  io.join();
  CHECK(ended == rounds);
}

TEST_CASE("a pool that is destroyed with tasks in flight destroys each frame once") {
  std::atomic<int> alive{0};
  struct life {
    explicit life(std::atomic<int>& count) noexcept : count_(count) { ++count_; }
    life(const life&) = delete;
    ~life() { --count_; }
    std::atomic<int>& count_;
  };
  for (int round = 0; round < beck::test::scaled(200); ++round) {
    thread_pool pool(4);
    for (int i = 0; i < 20; ++i) {
      beck::co_spawn(
          pool,
          [&]() -> task<> {
            const life here(alive);
            for (;;) co_await hops(pool, 3);
          },
          beck::detached);
    }
    if (round % 2 == 0) std::this_thread::yield();
  }
  CHECK(alive == 0);
}
