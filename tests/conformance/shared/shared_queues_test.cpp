// SPDX-License-Identifier: BSL-1.0
//
// The queues that threads of a shared context have for themselves: nothing in them is stranded, by
// a handler that blocks, an exception or a thread that leaves; order where there is one; who is
// woken, and what is counted.
#include <sys/socket.h>

#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/run/post.hpp>
#include <beck/run/work_guard.hpp>
#include <deque>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using beck::test::scaled;
using beck::test::stream_pair;

namespace {

constexpr unsigned on_epoll = beck::test::epoll;

beck::io_context::options for_threads(int most) { return context_options({.threads = most}); }

std::size_t run_on(beck::io_context& ctx, int count) {
  std::atomic<std::size_t> handlers{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&] { handlers += ctx.run(); });
  for (std::thread& t : threads) t.join();
  return handlers;
}

// One of two ends that answer each other. `each_round` is called by one of them.
template <class EachRound>
beck::task<> volley(beck::test::stream_socket& socket, bool opens, int rounds, EachRound each_round,
                    std::atomic<int>& over) {
  char byte = 0;
  for (int i = 0; i < rounds; ++i) {
    if (!opens) {
      const auto got = co_await socket.async_read_some(beck::buffer(&byte, 1));
      if (got.error()) break;
    }
    const auto sent = co_await beck::async_write(socket, beck::buffer(&byte, 1));
    if (sent.error()) break;
    if (opens) {
      const auto got = co_await socket.async_read_some(beck::buffer(&byte, 1));
      if (got.error()) break;
      each_round(i);
    }
  }
  ++over;
}

}  // namespace

CONFORMANCE_ON(on_epoll, "a handler that blocks strands none of those queued behind it") {
  for (const int count : {2, 3}) {
    beck::io_context ctx(for_threads(count));
    constexpr int behind = 200;
    std::latch done(behind);
    beck::post(ctx, [&] { done.wait(); });
    for (int i = 0; i < behind; ++i) beck::post(ctx, [&] { done.count_down(); });
    CHECK(run_on(ctx, count) == behind + 1);
  }
}

CONFORMANCE_ON(on_epoll, "a handler may wait for all that it has posted, however little") {
  for (const int posts : {1, 2, 3, 100}) {
    beck::io_context ctx(for_threads(2));
    for (int round = 0; round < scaled(20); ++round) {
      std::latch done(posts);
      beck::post(ctx, [&] {
        for (int i = 0; i < posts; ++i) beck::post(ctx, [&] { done.count_down(); });
        done.wait();
      });
      CHECK(run_on(ctx, 2) == static_cast<std::size_t>(posts) + 1);
      ctx.restart();
    }
  }
}

CONFORMANCE_ON(on_epoll, "a handler that blocks strands no reads that its thread was to try") {
  beck::io_context ctx(for_threads(2));
  constexpr int pairs = 40;
  const int rounds = scaled(300);
  std::deque<stream_pair> all;
  std::atomic<int> over{0};
  std::latch others(2 * (pairs - 1));
  for (int i = 0; i < pairs; ++i) {
    stream_pair& pair = all.emplace_back(ctx);
    const auto each_round = [&others, rounds, i](int round) {
      if (i == 0 && round == rounds / 2) others.wait();
    };
    const auto count = [&others, i](std::exception_ptr) {
      if (i != 0) others.count_down();
    };
    beck::co_spawn(ctx, volley(pair.a, true, rounds, each_round, over), count);
    beck::co_spawn(ctx, volley(pair.b, false, rounds, each_round, over), count);
  }
  run_on(ctx, 2);
  CHECK(over == 2 * pairs);
  CHECK(ctx.stats().speculations > 0);
}

CONFORMANCE_ON(on_epoll, "exceptions leave every queue intact") {
  beck::io_context ctx(for_threads(3));
  const int chains = 50;
  const int links = scaled(40);
  std::atomic<int> ran{0};
  std::atomic<int> caught{0};
  struct link {
    beck::io_context& ctx;
    std::atomic<int>& ran;
    int left;
    void operator()() const {
      ++ran;
      if (left > 0) beck::post(ctx, link{ctx, ran, left - 1});
      if (left % 3 == 0) throw std::runtime_error("thrown");
    }
  };
  for (int i = 0; i < chains; ++i) beck::post(ctx, link{ctx, ran, links - 1});
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        try {
          ctx.run();
          return;
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(ran.load() == chains * links);
  CHECK(caught.load() == chains * ((links + 2) / 3));
  CHECK(ctx.stats().outstanding == 0);
}

CONFORMANCE_ON(on_epoll, "a thread that leaves run gives back what it had taken, in order") {
  beck::io_context ctx(for_threads(2));
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    beck::post(ctx, [&, i] {
      order.push_back(i);
      if (i == 50) throw std::runtime_error("thrown");
    });
  }
  for (int i = 0; i < 10; ++i) std::thread([&] { ctx.run_one(); }).join();
  CHECK(order.size() == 10);
  CHECK_THROWS_AS(ctx.run(), std::runtime_error);
  CHECK(ctx.poll() == 49);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

CONFORMANCE_ON(on_epoll, "posts run in order where one thread runs a shared context") {
  beck::io_context ctx(for_threads(4));
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    beck::post(ctx, [&, i] {
      order.push_back(i);
      beck::post(ctx, [&order, i] { order.push_back(100 + i); });
    });
  }
  CHECK(ctx.run() == 200);
  for (int i = 0; i < 200; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

CONFORMANCE_ON(on_epoll, "a read that finishes at once comes after one whose handler is queued") {
  beck::io_context ctx(for_threads(2));
  stream_pair pair(ctx);
  pair.b.write_some(beck::buffer("abc", 3));
  std::vector<int> order;
  char first = 0;
  char second = 0;
  const auto reads = [&]() -> beck::task<> {
    pair.a.async_read_some(beck::buffer(&first, 1),
                           [&](beck::error_code, std::size_t) { order.push_back(1); });
    beck::ignore(co_await pair.a.async_read_some(beck::buffer(&second, 1)));
    order.push_back(2);
  };
  beck::co_spawn(ctx, reads(), beck::detached);
  ctx.run();
  CHECK(order == std::vector{1, 2});
  CHECK(first == 'a');
  CHECK(second == 'b');
}

CONFORMANCE_ON(on_epoll, "an awaited transfer that is ready finishes without suspending") {
  beck::io_context ctx(for_threads(2));
  stream_pair pair(ctx);
  const auto exchange = [&]() -> beck::task<> {
    char byte = 'x';
    for (int i = 0; i < 5; ++i) {
      beck::ignore(co_await pair.a.async_write_some(beck::buffer(&byte, 1)));
      beck::ignore(co_await pair.b.async_read_some(beck::buffer(&byte, 1)));
    }
    CHECK(byte == 'x');
  };
  beck::co_spawn(ctx, exchange(), beck::detached);
  run_on(ctx, 2);
  CHECK(ctx.stats().inline_completions >= 9);
  CHECK(ctx.stats().outstanding == 0);
}

CONFORMANCE_ON(on_epoll, "who queues something wakes nobody while all threads are awake") {
  beck::io_context ctx(for_threads(2));
  std::latch both(2);
  std::latch over(2);
  for (int i = 0; i < 2; ++i) {
    beck::post(ctx, [&] {
      both.arrive_and_wait();
      const auto before = ctx.stats().wakeups;
      for (int n = 0; n < 1000; ++n) beck::post(ctx, [] {});
      CHECK(ctx.stats().wakeups == before);
      over.arrive_and_wait();
    });
  }
  CHECK(run_on(ctx, 2) == 2002);
  CHECK(ctx.stats().entries_run >= 2002);
}

CONFORMANCE_ON(on_epoll,
               "run inside a handler returns when nothing but the handlers around is left") {
  beck::io_context ctx(for_threads(2));
  std::atomic<int> ran{0};
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    beck::post(ctx, [&] {
      both.arrive_and_wait();
      for (int n = 0; n < 100; ++n) beck::post(ctx, [&] { ++ran; });
      ctx.run();
      beck::post(ctx, [&] { ++ran; });
    });
  }
  run_on(ctx, 2);
  CHECK(ran == 202);
}

CONFORMANCE_ON(on_epoll, "sockets shut down by another thread end the coroutines that use them") {
  for (int round = 0; round < scaled(100); ++round) {
    beck::io_context ctx(for_threads(2));
    constexpr int pairs = 8;
    std::deque<stream_pair> all;
    std::atomic<int> over{0};
    std::atomic<int> turns{0};
    for (int i = 0; i < pairs; ++i) {
      stream_pair& pair = all.emplace_back(ctx);
      const auto each_round = [&turns](int) { ++turns; };
      beck::co_spawn(ctx, volley(pair.a, true, 1 << 30, each_round, over), beck::detached);
      beck::co_spawn(ctx, volley(pair.b, false, 1 << 30, each_round, over), beck::detached);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { ctx.run(); });
    while (turns < round * 10 % 100) std::this_thread::yield();
    for (stream_pair& pair : all) ::shutdown(pair.a.native_handle(), SHUT_RDWR);
    for (std::thread& t : threads) t.join();
    CHECK(over == 2 * pairs);
    CHECK(ctx.stats().outstanding == 0);
  }
}
