// SPDX-License-Identifier: BSL-1.0
//
// Time limits, stops and groups of coroutines that run on any thread of a shared context: the end
// by time comes from one thread, the end of what waits from another.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/strand.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::error::operation_aborted;
using beck::test::scaled;
using beck::test::stream_pair;

namespace {

constexpr unsigned on_epoll = beck::test::epoll;
constexpr int tasks = 50;

beck::io_context::options for_threads(int most) { return context_options({.threads = most}); }

void run_on(beck::io_context& ctx, int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&] { ctx.run(); });
  for (std::thread& t : threads) t.join();
}

// Starts `make()` some times on `ex`, and runs all of them.
template <class Executor, class Make>
void run_many(beck::io_context& ctx, const Executor& ex, Make make) {
  for (int i = 0; i < tasks; ++i) beck::co_spawn(ex, make(), beck::detached);
  run_on(ctx, 3);
}

beck::task<std::size_t> read_byte(beck::test::stream_socket& from, char& byte) {
  const auto [ec, n] = co_await from.async_read_some(beck::buffer(&byte, 1));
  co_return ec ? 0 : n;
}

}  // namespace

CONFORMANCE_ON(on_epoll, "limits end reads on a shared context, and what is there is read") {
  beck::io_context ctx(for_threads(3));
  std::atomic<int> right{0};
  const auto one = [&]() -> beck::task<> {
    stream_pair pair(ctx);
    char byte = 0;
    const auto late = co_await beck::timeout(pair.a.async_read_some(beck::buffer(&byte, 1)), 100us);
    if (late.error() == beck::error::timeout) ++right;
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
    const auto there = co_await beck::timeout(pair.a.async_read_some(beck::buffer(&byte, 1)), 1h);
    if (!there.error() && byte == 'x') ++right;
    const auto task_late = co_await beck::timeout(read_byte(pair.a, byte), 100us);
    if (task_late.error() == beck::error::timeout) ++right;
  };
  run_many(ctx, ctx.get_executor(), one);
  CHECK(right == 3 * tasks);
}

CONFORMANCE_ON(on_epoll, "a limit that races with the bytes of another thread loses none") {
  for (int round = 0; round < scaled(20); ++round) {
    beck::io_context ctx(for_threads(3));
    std::atomic<int> right{0};
    const auto one = [&]() -> beck::task<> {
      stream_pair pair(ctx);
      char byte = 0;
      const auto send = [&]() -> beck::task<> {
        beck::steady_timer timer(ctx, std::chrono::microseconds(round * 5));
        beck::ignore(co_await timer.async_wait());
        beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
      };
      const auto receive = [&]() -> beck::task<std::size_t> {
        const auto ended =
            co_await beck::timeout(read_byte(pair.a, byte), std::chrono::microseconds(round * 5));
        co_return ended.value_;
      };
      auto both = beck::when_all(receive(), send());
      auto [early, sent] = co_await std::move(both);
      const std::size_t rest = early == 1 ? 0 : co_await read_byte(pair.a, byte);
      if (early + rest == 1 && byte == 'x') ++right;
    };
    run_many(ctx, ctx.get_executor(), one);
    CHECK(right == tasks);
  }
}

CONFORMANCE_ON(on_epoll, "limits of coroutines on a strand over a shared context ring inside it") {
  beck::io_context ctx(for_threads(3));
  auto strand = beck::make_strand(ctx);
  std::atomic<bool> inside{false};
  std::atomic<int> right{0};
  const auto one = [&]() -> beck::task<> {
    stream_pair pair(ctx);
    for (int i = 0; i < 5; ++i) {
      char byte = 0;
      const auto late = co_await beck::timeout(read_byte(pair.a, byte), 50us);
      CHECK_FALSE(inside.exchange(true));
      if (late.error() == beck::error::timeout) ++right;
      inside = false;
    }
  };
  run_many(ctx, strand, one);
  CHECK(right == 5 * tasks);
}

CONFORMANCE_ON(on_epoll,
               "stops from another thread end what coroutines of a shared context await") {
  for (int round = 0; round < scaled(50); ++round) {
    beck::io_context ctx(for_threads(3));
    beck::stop_source source;
    std::atomic<int> right{0};
    const auto one = [&]() -> beck::task<> {
      stream_pair pair(ctx);
      char byte = 0;
      const auto both = [&]() -> beck::task<bool> {
        beck::steady_timer timer(ctx, 1h);
        const auto waits = [&]() -> beck::task<bool> {
          const auto ended = co_await timer.async_wait();
          co_return ended.error() == operation_aborted;
        };
        auto all = beck::when_all(read_byte(pair.a, byte), waits());
        auto [n, aborted] = co_await std::move(all);
        co_return n == 0 && aborted;
      };
      const auto ended = co_await beck::with_stop(source.get_token(), both());
      if (ended.value_) ++right;
    };
    std::thread asks([&] {
      for (int i = 0; i < round; ++i) std::this_thread::yield();
      source.request_stop();
    });
    run_many(ctx, ctx.get_executor(), one);
    asks.join();
    CHECK(right == tasks);
  }
}

CONFORMANCE_ON(on_epoll,
               "a group on a shared context stops its children when the time to drain is over") {
  for (int round = 0; round < scaled(20); ++round) {
    beck::io_context ctx(for_threads(3));
    std::atomic<int> stopped{0};
    std::atomic<int> drained{0};
    const auto one = [&]() -> beck::task<> {
      const auto child = [&](bool quick) -> beck::task<> {
        beck::steady_timer timer(ctx, quick ? beck::duration(10'000) : beck::duration(1h));
        const auto ended = co_await timer.async_wait();
        ++(ended.error() == operation_aborted ? stopped : drained);
      };
      const auto body = [&](beck::task_group& group) -> beck::task<> {
        group.spawn(child(false));
        group.spawn(child(true));
        co_return;
      };
      co_await beck::task_group::run(body, beck::group_options{.drain_timeout = 2ms});
    };
    run_many(ctx, ctx.get_executor(), one);
    CHECK(stopped + drained == 2 * tasks);
    CHECK(stopped >= tasks);
  }
}

CONFORMANCE_ON(on_epoll,
               "a limit of a coroutine that is destroyed with its shared context rings nowhere") {
  for (int round = 0; round < scaled(20); ++round) {
    auto held = std::make_shared<int>(0);
    {
      beck::io_context ctx(for_threads(2));
      const auto one = [&, held]() -> beck::task<> {
        stream_pair pair(ctx);
        char byte = 0;
        beck::ignore(co_await beck::timeout(read_byte(pair.a, byte), 1h));
      };
      for (int i = 0; i < 5; ++i) beck::co_spawn(ctx, one, beck::detached);
      std::thread other([&] { ctx.poll(); });
      ctx.poll();
      other.join();
    }
    CHECK(held.use_count() == 1);
  }
}

CONFORMANCE_ON(on_epoll, "a shared context lists its tasks while no thread runs it") {
  beck::io_context ctx(for_threads(2));
  beck::steady_timer timer(ctx, 1ms);
  std::string inside;
  std::string outside;
  const auto wait = [&]() -> beck::task<> {
    ctx.dump(inside);
    beck::ignore(co_await timer.async_wait());
  };
  beck::co_spawn(ctx, wait(), beck::detached);
  ctx.dump(outside);
  CHECK(outside.starts_with("1 task"));
  run_on(ctx, 2);
  CHECK(inside == "tasks of a context for several threads are listed while none runs it\n");
}
