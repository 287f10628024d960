// SPDX-License-Identifier: BSL-1.0
// What a port from Asio relies on around run() and its relations: when a context counts as stopped,
// what the calls return then, and what calls inside of handlers change.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using namespace std::chrono_literals;
using beck::post;

CONFORMANCE("a handler that polls its own context does not stop the run around it") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  post(ctx, [&] {
    order.push_back(1);
    CHECK(ctx.poll() == 1);
    CHECK_FALSE(ctx.stopped());
    CHECK(ctx.poll() == 0);
    CHECK_FALSE(ctx.stopped());  // this handler is work
    post(ctx, [&] { order.push_back(3); });
  });
  post(ctx, [&] { order.push_back(2); });
  CHECK(ctx.run() == 3);
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE("a handler that runs its own context comes back when everything else has run") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  post(ctx, [&] {
    CHECK(ctx.run_one() == 1);
    order.push_back(2);
    CHECK(ctx.run() == 1);
    order.push_back(4);
    post(ctx, [&] { order.push_back(5); });
  });
  post(ctx, [&] { order.push_back(1); });
  post(ctx, [&] { order.push_back(3); });
  ctx.run();
  CHECK(order == std::vector{1, 2, 3, 4, 5});
}

CONFORMANCE("a stop inside a nested poll ends the run around it too") {
  beck::io_context ctx(context_options());
  int ran = 0;
  post(ctx, [&] {
    ctx.poll();
    ++ran;
  });
  post(ctx, [&] {
    ctx.stop();
    ++ran;
  });
  post(ctx, [&] { ran += 100; });
  ctx.run();
  CHECK(ran == 2);
  CHECK(ctx.stopped());
  ctx.restart();
  CHECK(ctx.run() == 1);
}

CONFORMANCE("run_for that gives up leaves the context running, and run goes on without restart") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 1h);
  bool ended = false;
  timer.async_wait([&](beck::error_code) { ended = true; });
  CHECK(ctx.run_for(1ms) == 0);
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run_one_for(1ms) == 0);
  CHECK_FALSE(ctx.stopped());
  timer.cancel();
  CHECK(ctx.run() == 1);
  CHECK(ended);
  CHECK(ctx.stopped());
}

CONFORMANCE("run_one without work gives 0 and stops, as run does") {
  beck::io_context ctx(context_options());
  CHECK(ctx.run_one() == 0);
  CHECK(ctx.stopped());
  ctx.restart();
  post(ctx, [] {});
  CHECK(ctx.run_one() == 1);
  CHECK_FALSE(ctx.stopped());  // nobody has looked yet
  CHECK(ctx.run_one() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("poll beside a work guard gives 0 and does not stop") {
  beck::io_context ctx(context_options());
  auto guard = beck::make_work_guard(ctx);
  CHECK(ctx.poll() == 0);
  CHECK(ctx.poll_one() == 0);
  CHECK_FALSE(ctx.stopped());
  guard.reset();
  CHECK(ctx.poll() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("an operation in flight is work: poll does not stop beside it") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 1h);
  timer.async_wait([](beck::error_code) {});
  CHECK(ctx.poll() == 0);
  CHECK_FALSE(ctx.stopped());
  timer.cancel();
  CHECK(ctx.poll() == 1);
  CHECK(ctx.stopped());
}

CONFORMANCE("restart of a context that was not stopped changes nothing") {
  beck::io_context ctx(context_options());
  int ran = 0;
  post(ctx, [&] { ++ran; });
  ctx.restart();
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run() == 1);
  ctx.restart();
  ctx.restart();
  CHECK(ctx.run() == 0);
  CHECK(ran == 1);
}

CONFORMANCE("what was posted while the context was stopped runs after restart, in order") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  post(ctx, [&] { order.push_back(1); });
  ctx.stop();
  post(ctx, [&] { order.push_back(2); });
  CHECK(ctx.poll() == 0);
  ctx.restart();
  post(ctx, [&] { order.push_back(3); });
  CHECK(ctx.poll() == 3);
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE("an exception out of run_one and poll_one takes its handler only") {
  beck::io_context ctx(context_options());
  int ran = 0;
  for (int i = 0; i < 2; ++i) {
    post(ctx, [] { throw std::runtime_error("one"); });
    post(ctx, [&] { ++ran; });
  }
  CHECK_THROWS_AS(ctx.run_one(), std::runtime_error);
  CHECK(ctx.run_one() == 1);
  CHECK_THROWS_AS(ctx.poll_one(), std::runtime_error);
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.poll_one() == 1);
  CHECK(ran == 2);
}

CONFORMANCE(
    "run counts a coroutine's start and each of its resumptions, but what went on inline not") {
  beck::io_context ctx(context_options());
  auto child = []() -> beck::task<> { co_return; };
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        co_await child();
        co_await post(ctx);
        co_await child();
        co_await dispatch(ctx);
      },
      beck::detached);
  CHECK(ctx.run() == 2);
}

CONFORMANCE("a handler count ends between two handlers that were ready together") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::steady_timer timers[3] = {beck::steady_timer(ctx, 0ms), beck::steady_timer(ctx, 0ms),
                                  beck::steady_timer(ctx, 0ms)};
  for (int i = 0; i < 3; ++i) {
    timers[i].async_wait([&order, i](beck::error_code) { order.push_back(i); });
  }
  CHECK(ctx.run_one() == 1);
  CHECK(order == std::vector{0});
  CHECK(ctx.run_one() == 1);
  CHECK(order == std::vector{0, 1});
  CHECK(ctx.run() == 1);
  CHECK(order == std::vector{0, 1, 2});
}

namespace {

/// Reads what has arrived by runs that have no time; gives how many it took.
template <class Run>
int runs_to_read(beck::io_context& ctx, std::size_t room, Run run) {
  beck::test::local_connection c(ctx);
  std::vector<char> there(room);
  beck::test::outcome read;
  c.b.async_read_some(beck::buffer(there), beck::test::note(read));
  beck::test::let_settle(ctx);
  c.a.write_some(beck::buffer("x", 1));
  constexpr int most = 10'000;  // in a simulation it travels meanwhile
  int runs = 0;
  for (; runs < most && !read.done(); ++runs) run();
  CHECK(read.ok());
  return runs;
}

void check_runs_without_time(beck::io_context& ctx) {
  const bool travels = ctx.backend_in_use() == beck::backend::sim;
  for (const std::size_t room : {std::size_t{16}, std::size_t{16'384}}) {
    const auto check = [&](auto run) {
      ctx.restart();
      const int runs = runs_to_read(ctx, room, run);
      CHECK((travels || runs == 1));
    };
    check([&] { ctx.run_for(0s); });
    check([&] { ctx.run_for(-1h); });
    check([&] { ctx.run_one_for(0s); });
    check([&] { ctx.run_until(beck::time_point()); });
    check([&] { ctx.run_one_until(beck::time_point()); });
  }
}

}  // namespace

CONFORMANCE("a run that has no time looks at the kernel, as poll does") {
  beck::io_context ctx(context_options());
  check_runs_without_time(ctx);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim,
               "a run of a shared context that has no time looks at the kernel, as poll does") {
  beck::io_context ctx(context_options({.threads = 2}));
  check_runs_without_time(ctx);
}

CONFORMANCE("a run that has no time ends although handlers go on posting others") {
  for (const int threads : {1, 2}) {
    if (threads == 2 && where == beck::test::on_uring) continue;
    beck::io_context ctx(context_options({.threads = threads}));
    int ran = 0;
    struct again {
      beck::io_context& ctx;
      int& ran;
      void operator()() const {
        if (++ran == 100'000) return ctx.stop();
        post(ctx, *this);
      }
    };
    post(ctx, again{ctx, ran});
    ctx.run_for(0s);
    CHECK(ran >= 1);
    CHECK_FALSE(ctx.stopped());
    ctx.stop();
  }
}

CONFORMANCE("a run that has no time fires the timers that are due") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx);
  timer.expires_at(beck::time_point());
  beck::test::outcome fired;
  timer.async_wait(beck::test::note(fired));
  CHECK(ctx.run_for(0s) == 1);
  CHECK(fired.ok());
  CHECK(ctx.stopped());
}

CONFORMANCE_ON(beck::test::kernel, "a run whose time passes in a handler runs few entries more") {
  beck::io_context ctx(context_options());
  int ran = 0;
  struct again {
    beck::io_context& ctx;
    int& ran;
    void operator()() const {
      const beck::time_point end = beck::steady_now() + beck::duration(2ms);
      while (ran == 0 && beck::steady_now() < end) {}
      if (++ran < 10'000) post(ctx, *this);
    }
  };
  for (int i = 0; i < 64; ++i) post(ctx, again{ctx, ran});
  ctx.run_for(1ms);
  CHECK(ran <= 256);
  ctx.stop();
}

CONFORMANCE_ON(beck::test::kernel, "a run whose handlers take all its time looks at the kernel") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  std::vector<char> there(16'384);
  beck::test::outcome read;
  c.b.async_read_some(beck::buffer(there), beck::test::note(read));
  beck::test::let_settle(ctx);
  c.a.write_some(beck::buffer("x", 1));
  for (int runs = 0; runs < 3 && !read.done(); ++runs) {
    const beck::time_point end = beck::steady_now() + beck::duration(1ms);
    post(ctx, [&] {
      while (beck::steady_now() < end) {}
    });
    ctx.run_until(end);
  }
  CHECK(read.ok());
}
