// SPDX-License-Identifier: BSL-1.0
// Scopes where entries run side by side: stops, branches and groups of coroutines on a thread_pool.
// What they check beside their CHECKs is for ThreadSanitizer.
#include <doctest/doctest.h>
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/net/local.hpp>
#include <beck/run/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/scale.hpp"

namespace {

/// Lets a request to stop arrive while it is being started, and ends when it is cancelled.
class slow_to_start : public beck::op<slow_to_start, void(beck::error_code)> {
 public:
  slow_to_start(beck::thread_pool& pool, const beck::stop_source& source, int& cancels)
      : pool_(&pool), source_(&source), cancels_(&cancels) {}

  void initiate(handler done) {
    source_->request_stop();
    std::atomic<bool> arrived{false};  // the pool's other thread takes one entry after the other
    beck::post(*pool_, [&] { arrived = true; });
    while (!arrived) std::this_thread::yield();
    CHECK(*cancels_ == 0);
    done_ = std::move(done);
  }
  void cancel() noexcept {
    ++*cancels_;
    done_(beck::error::operation_aborted);
  }

 private:
  beck::thread_pool* pool_;
  const beck::stop_source* source_;
  int* cancels_;
  handler done_;
};

beck::task<int> hop(int times) {
  auto executor = co_await beck::this_coro::executor;
  for (int i = 0; i < times; ++i) co_await beck::post(executor);
  co_return times;
}

}  // namespace

TEST_CASE("branches on a pool run side by side and are joined") {
  beck::thread_pool pool(4);
  for (int round = 0; round < beck::test::scaled(300); ++round) {
    const int sum = beck::sync_wait(pool, [&]() -> beck::task<int> {
      auto all = beck::when_all(hop(round % 7), hop(3), hop(1));
      auto [a, b, c] = co_await std::move(all);
      co_return a + b + c;
    });
    CHECK(sum == round % 7 + 4);
  }
}

TEST_CASE("when_any and exceptions on a pool") {
  beck::thread_pool pool(4);
  for (int round = 0; round < beck::test::scaled(300); ++round) {
    beck::sync_wait(pool, [&]() -> beck::task<> {
      auto any = beck::when_any(hop(round % 5), hop(2));
      auto r = co_await std::move(any);
      CHECK(r.index() < 2);
      const auto fail = [&]() -> beck::task<int> {
        co_await hop(round % 3);
        throw std::runtime_error("boom");
      };
      bool thrown = false;
      try {
        auto all = beck::when_all(fail(), hop(4));
        beck::ignore(co_await std::move(all));
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      CHECK(thrown);
    });
  }
}

TEST_CASE("a group on a pool counts its children, whoever spawns them") {
  beck::thread_pool pool(4);
  for (int round = 0; round < beck::test::scaled(100); ++round) {
    std::atomic<int> ended{0};
    beck::sync_wait(pool, [&]() -> beck::task<> {
      const auto body = [&](beck::task_group& group) -> beck::task<> {
        for (int i = 0; i < 10; ++i) {
          const auto child = [&, i]() -> beck::task<> {
            const auto grandchild = [&]() -> beck::task<> {
              co_await hop(2);
              ++ended;
            };
            group.spawn(grandchild);
            co_await hop(i % 3);
            ++ended;
          };
          group.spawn(child);
        }
        co_await hop(1);
      };
      co_await beck::task_group::run(body);
    });
    CHECK(ended == 20);
  }
}

TEST_CASE("a full group on a pool says that it cannot be waited for") {
  beck::thread_pool pool(2);
  beck::sync_wait(pool, [&]() -> beck::task<> {
    beck::latch open(beck::concurrent, 1);
    const auto wait = [&]() -> beck::task<> { beck::ignore(co_await open.wait()); };
    const auto body = [&](beck::task_group& group) -> beck::task<> {
      const auto placed = co_await group.async_spawn(wait());
      CHECK_FALSE(placed.error());
      CHECK(group.is_full());
      const auto refused = co_await group.async_spawn(wait());
      CHECK(refused.error() == beck::error::operation_not_supported);
      open.count_down();
    };
    co_await beck::task_group::run(body, beck::group_options{.limit = 1});
  });
}

TEST_CASE("a stop that comes while an operation is being started cancels it when it has") {
  beck::thread_pool pool(2);
  for (int round = 0; round < beck::test::scaled(20); ++round) {
    beck::stop_source source;
    int cancels = 0;
    beck::sync_wait(pool, [&]() -> beck::task<> {
      const auto wait = [&]() -> beck::task<beck::error_code> {
        const auto ended = co_await slow_to_start(pool, source, cancels);
        co_return ended.error();
      };
      const auto ended = co_await beck::with_stop(source.get_token(), wait());
      CHECK(ended.value_ == beck::error::operation_aborted);
    });
    CHECK(cancels == 1);
  }
}

TEST_CASE("an operation that ends while it is being started is waited for once") {
  class at_once_elsewhere : public beck::op<at_once_elsewhere, void(beck::error_code)> {
   public:
    explicit at_once_elsewhere(beck::thread_pool& pool) : pool_(&pool) {}
    void initiate(handler done) {
      done_ = std::move(done);
      std::atomic<bool> ended{false};
      beck::post(*pool_, [&] {
        done_(beck::error_code());
        ended = true;
      });
      while (!ended) std::this_thread::yield();
    }

   private:
    beck::thread_pool* pool_;
    handler done_;
  };
  beck::thread_pool pool(3);
  for (int round = 0; round < beck::test::scaled(300); ++round) {
    beck::sync_wait(pool, [&]() -> beck::task<> {
      for (int i = 0; i < 10; ++i) CHECK_FALSE((co_await at_once_elsewhere(pool)).error());
    });
  }
}

TEST_CASE("a stop races with tasks of a pool that wait for a mutex, a socket, or nothing") {
  beck::thread_pool pool(3);
  beck::io_context ctx;
  auto guard = beck::make_work_guard(ctx);
  std::thread runs([&] { ctx.run(); });
  for (int round = 0; round < beck::test::scaled(200); ++round) {
    beck::stop_source source;
    beck::mutex mutex(beck::concurrent);
    beck::local::stream_protocol::socket a(ctx);
    beck::local::stream_protocol::socket b(ctx);
    beck::connect_pair(a, b);
    REQUIRE(mutex.try_lock());
    std::thread other([&] {
      for (int i = 0; i < round; ++i) std::this_thread::yield();
      source.request_stop();
    });
    beck::sync_wait(pool, [&]() -> beck::task<> {
      const auto lock = [&]() -> beck::task<bool> {
        auto got = co_await mutex.lock();
        co_return got.error() == beck::error::operation_aborted;
      };
      const auto read = [&]() -> beck::task<bool> {
        char data[4];
        auto got = co_await a.async_read_some(beck::buffer(data));
        co_return got.error() == beck::error::operation_aborted;
      };
      const auto both = [&]() -> beck::task<bool> {
        auto all = beck::when_all(lock(), read(), beck::shield(hop(5)));
        auto [locked, has_read, hops] = co_await std::move(all);
        co_return locked&& has_read&& hops.value_ == 5;
      };
      auto ended = co_await beck::with_stop(source.get_token(), both());
      CHECK(ended.value_);
    });
    other.join();
  }
  guard.reset();
  runs.join();
}
