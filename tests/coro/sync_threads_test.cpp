// SPDX-License-Identifier: BSL-1.0
// Primitives with beck::concurrent between contexts that run on threads of their own. What counts
// is checked by plain variables, which ThreadSanitizer watches.
#include <doctest/doctest.h>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/condition_variable.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/io_context.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <ostream>
#include <thread>
#include <vector>

#include "support/primitives.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;
using beck::concurrent;

namespace {

constexpr int threads = 4;

// Runs each task on a context and a thread of its own, all at once, until all have ended.
template <class Make>
void run_on_threads(int count, Make make) {
  std::deque<beck::io_context> contexts;
  for (int i = 0; i < count; ++i) {
    contexts.emplace_back();
    beck::co_spawn(contexts.back(), make(i, contexts.back()), beck::detached);
  }
  std::vector<std::thread> running;
  for (beck::io_context& context : contexts) running.emplace_back([&context] { context.run(); });
  for (std::thread& one : running) one.join();
}

}  // namespace

TEST_CASE("a concurrent mutex excludes coroutines on several threads") {
  beck::mutex m(concurrent);
  long counter = 0;
  bool inside = false;
  const int rounds = beck::test::scaled(20000);
  const auto work = [&](int, beck::io_context& context) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      auto r = co_await m.scoped_lock();
      const beck::mutex_lock held = std::move(r).value();
      CHECK_FALSE(std::exchange(inside, true));
      ++counter;
      if (i % 8 == 0) co_await beck::post(context);
      inside = false;
    }
  };
  run_on_threads(threads, work);
  CHECK(counter == static_cast<long>(rounds) * threads);
  CHECK(m.try_lock());
}

TEST_CASE("a concurrent shared_mutex lets readers on several threads share, and writers not") {
  beck::shared_mutex m(concurrent);
  long value = 0;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  const int rounds = beck::test::scaled(10000);
  const auto work = [&](int who, beck::io_context& context) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      if (who % 2 == 0 && i % 4 == 0) {
        beck::ignore(co_await m.lock());
        CHECK(writers++ == 0);
        CHECK(readers == 0);
        ++value;
        --writers;
        m.unlock();
      } else {
        auto r = co_await m.scoped_lock_shared();
        ++readers;
        CHECK(writers == 0);
        CHECK(value >= 0);
        if (i % 16 == 0) co_await beck::post(context);
        --readers;
      }
    }
  };
  run_on_threads(threads, work);
  CHECK(m.try_lock());
}

TEST_CASE("permits of a concurrent semaphore are neither lost nor doubled, whatever times out") {
  beck::semaphore permits(concurrent, 2);
  std::atomic<int> inside{0};
  const int rounds = beck::test::scaled(2000);
  const auto work = [&](int who, beck::io_context& context) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      const auto r = co_await beck::timeout(permits.acquire(), (i + who) % 3 == 0 ? 20us : 1h);
      if (!r) {
        CHECK(r.error() == beck::error::timeout);
        continue;
      }
      CHECK(++inside <= 2);
      co_await beck::post(context);
      --inside;
      permits.release();
    }
  };
  run_on_threads(threads, work);
  CHECK(permits.available() == 2);
}

TEST_CASE("a stop from another thread races with the hand-over: one of them wins") {
  beck::mutex m(concurrent);
  const int rounds = beck::test::scaled(2000);
  long owned = 0;
  int stopped = 0;
  std::vector<beck::stop_source> sources(static_cast<std::size_t>(rounds));
  const auto work = [&](int who, beck::io_context& context) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      const beck::stop_source& source = sources[static_cast<std::size_t>(i)];
      if (who == 0) {
        const auto r = co_await beck::with_stop(source.get_token(), m.lock());
        if (!r) {
          ++stopped;
          continue;
        }
      } else {
        beck::ignore(co_await m.lock());
        if (who == 1) source.request_stop();
      }
      ++owned;
      co_await beck::post(context);
      m.unlock();
    }
  };
  run_on_threads(3, work);
  CHECK(owned + stopped == 3L * rounds);
  CHECK(m.try_lock());
}

TEST_CASE("a latch joins several threads and may go as soon as it is open") {
  const int rounds = beck::test::scaled(1000);
  for (int i = 0; i < rounds / 20 + 1; ++i) {
    auto done = std::make_unique<beck::latch>(concurrent, 3);
    beck::latch* const shared = done.get();
    std::vector<int> results(3);
    const auto work = [&](int who, beck::io_context&) -> beck::task<> {
      if (who < 3) {
        results[static_cast<std::size_t>(who)] = who + 1;
        shared->count_down();
      } else {
        beck::ignore(co_await shared->wait());
        done.reset();
        CHECK(results[0] + results[1] + results[2] == 6);
      }
    };
    run_on_threads(4, work);
  }
}

TEST_CASE("events pass a turn round between threads") {
  std::deque<beck::auto_reset_event> turn;
  for (int i = 0; i < threads; ++i) turn.emplace_back(concurrent);
  int holder = 0;
  const int rounds = beck::test::scaled(5000);
  const auto work = [&](int who, beck::io_context&) -> beck::task<> {
    const auto mine = static_cast<std::size_t>(who);
    for (int i = 0; i < rounds; ++i) {
      beck::ignore(co_await turn[mine].wait());
      CHECK(holder == who);
      holder = (who + 1) % threads;
      turn[(mine + 1) % threads].set();
    }
  };
  turn[0].set();
  run_on_threads(threads, work);
  CHECK(turn[0].try_wait());
}

TEST_CASE("a manual_reset_event wakes waiters on all threads, each round") {
  const int rounds = beck::test::scaled(2000) / 20 + 1;
  std::deque<beck::manual_reset_event> events;
  for (int i = 0; i < rounds; ++i) events.emplace_back(concurrent);
  beck::semaphore arrived(concurrent, 0);
  const auto work = [&](int who, beck::io_context&) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      if (who != 0) {
        arrived.release();
        beck::ignore(co_await events[static_cast<std::size_t>(i)].wait());
      } else {
        for (int k = 1; k < threads; ++k) beck::ignore(co_await arrived.acquire());
        events[static_cast<std::size_t>(i)].set();
      }
    }
  };
  run_on_threads(threads, work);
  CHECK(arrived.available() == 0);
}

TEST_CASE("producers and consumers on several threads move every value once") {
  for (const std::size_t capacity : {0u, 1u, 64u}) {
    beck::channel<std::unique_ptr<int>> c(concurrent, capacity);
    const int each = beck::test::scaled(20000);
    std::atomic<int> producing{2};
    long long sums[4] = {};
    const auto work = [&](int who, beck::io_context&) -> beck::task<> {
      if (who < 2) {
        for (int i = 1; i <= each; ++i) {
          const auto r = co_await c.async_send(std::make_unique<int>(i));
          CHECK_FALSE(r.error());
        }
        if (--producing == 0) c.close();
        co_return;
      }
      while (true) {
        auto r = co_await c.async_receive();
        if (r.error()) break;
        sums[who] += **r;
      }
    };
    run_on_threads(4, work);
    CHECK(sums[2] + sums[3] == static_cast<long long>(each) * (each + 1));
  }
}

TEST_CASE("sends and receives that time out on several threads lose no value") {
  beck::channel<int> c(concurrent, 1);
  const int rounds = beck::test::scaled(2000);
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  const auto work = [&](int who, beck::io_context&) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      const auto limit = (i * 7 + who) % 3 == 0 ? 5us : 200us;
      if (who % 2 == 0) {
        const auto r = co_await beck::timeout(c.async_send(1), limit);
        sent += r.error() ? 0 : 1;
      } else {
        const auto r = co_await beck::timeout(c.async_receive(), limit);
        received += r.error() ? 0 : *r;
      }
    }
  };
  run_on_threads(threads, work);
  int left = 0;
  while (!c.try_receive().error()) ++left;
  CHECK(sent == received + left);
}

TEST_CASE("a queue of conditions works between threads, with and without time limits") {
  beck::mutex m(concurrent);
  beck::condition_variable filled(concurrent);
  std::deque<int> queue;
  bool closed = false;
  const int each = beck::test::scaled(5000);
  long long sums[4] = {};
  const auto work = [&](int who, beck::io_context&) -> beck::task<> {
    if (who < 2) {
      for (int i = 1; i <= each; ++i) {
        beck::ignore(co_await m.lock());
        queue.push_back(i);
        m.unlock();
        filled.notify_one();
      }
      beck::ignore(co_await m.lock());
      if (std::exchange(closed, true)) filled.notify_all();
      m.unlock();
      co_return;
    }
    bool over = false;
    while (!over) {
      beck::ignore(co_await m.lock());
      const auto more = [&] { return !queue.empty() || closed; };
      const auto r = co_await beck::timeout(filled.wait(m, more), who == 2 ? 50us : 1ms);
      if (r && !queue.empty()) {
        sums[who] += queue.front();
        queue.pop_front();
      } else if (r) {
        over = true;
      }
      m.unlock();
    }
  };
  run_on_threads(4, work);
  long long rest = 0;
  for (const int one : queue) rest += one;
  CHECK(sums[2] + sums[3] + rest == static_cast<long long>(each) * (each + 1));
}
