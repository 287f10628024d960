// SPDX-License-Identifier: BSL-1.0
//
// Calls that block, as operations: on real backends threads of the context's pool make them, in a
// simulation they take virtual time. What a program may rely on is the same.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/detail/job_operation.hpp>
#include <beck/run/bind.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "support/context_options.hpp"

using namespace std::chrono_literals;

namespace {

bool is_virtual() { return beck::test::current_backend() == beck::backend::sim; }

std::ptrdiff_t count(beck::detail::system&, beck::detail::io_op& op) noexcept {
  ++*static_cast<std::atomic<int>*>(op.address);
  return 7;
}
std::ptrdiff_t fail(beck::detail::system&, beck::detail::io_op&) noexcept { return -EIO; }
std::ptrdiff_t forget(beck::detail::system&, beck::detail::io_op&) noexcept { return -ECANCELED; }

/// Calls wait here until it opens: on real backends, where they have threads.
struct gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int inside = 0;

  void expect_inside(int wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside == wanted; });
  }
  void let_pass() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};
std::ptrdiff_t pass(beck::detail::system&, beck::detail::io_op& op) noexcept {
  auto& g = *static_cast<gate*>(op.address);
  std::unique_lock lock(g.mutex);
  ++g.inside;
  g.changed.notify_all();
  if (op.length != 0) g.changed.wait(lock, [&g] { return g.open; });
  return 1;
}
/// On the simulator nobody would ever open it.
beck::detail::job_operation pass_gate(beck::io_context& ctx, gate& g) {
  return {ctx, &pass, &g, is_virtual() ? 0u : 1u};
}

constexpr int at_once = 4;

}  // namespace

CONFORMANCE("a job gives its value to a handler, and its error") {
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  int handlers = 0;
  beck::detail::job_operation(ctx, &count, &calls, 0)([&](beck::error_code ec, std::size_t n) {
    CHECK(!ec);
    CHECK(n == 7);
    ++handlers;
  });
  beck::detail::job_operation(ctx, &fail)([&](beck::error_code ec, std::size_t n) {
    CHECK(ec == std::errc::io_error);
    CHECK(n == 0);
    ++handlers;
  });
  CHECK(handlers == 0);
  CHECK(ctx.run() == 2);
  CHECK(handlers == 2);
  CHECK(calls == 1);
}

CONFORMANCE("a coroutine awaits jobs, one after the other") {
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  const auto body = [](beck::io_context& c, std::atomic<int>& n) -> beck::task<> {
    for (int i = 1; i <= 5; ++i) {
      const auto got = co_await beck::detail::job_operation(c, &count, &n, 0);
      CHECK(!got.error());
      CHECK(*got == 7);
      CHECK(n == i);
    }
    const auto failed = co_await beck::detail::job_operation(c, &fail);
    CHECK(failed.error() == std::errc::io_error);
  };
  beck::co_spawn(ctx, body(ctx, calls), beck::detached);
  ctx.run();
  CHECK(calls == 5);
}

CONFORMANCE("more jobs than threads: all of them come back, none is performed twice") {
  beck::io_context ctx(context_options());
  constexpr int jobs = 200;
  std::atomic<int> calls{0};
  int handlers = 0;
  for (int i = 0; i < jobs; ++i) {
    beck::detail::job_operation(ctx, &count, &calls, 0)([&](beck::error_code ec, std::size_t) {
      CHECK(!ec);
      ++handlers;
    });
  }
  ctx.run();
  CHECK(handlers == jobs);
  CHECK(calls == jobs);
}

CONFORMANCE("a job is outstanding work until it is delivered, also across stop and restart") {
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  int handlers = 0;
  beck::detail::job_operation(ctx, &count, &calls,
                              0)([&](beck::error_code, std::size_t) { ++handlers; });
  ctx.stop();
  CHECK(ctx.run() == 0);
  CHECK(ctx.stats().outstanding == 1);
  ctx.restart();
  CHECK(ctx.run() == 1);
  CHECK(handlers == 1);
  CHECK(ctx.stats().outstanding == 0);
}

CONFORMANCE("a job that waits for its turn ends at once when it is cancelled") {
  gate g;
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  for (int i = 0; i < at_once; ++i) pass_gate(ctx, g)([](beck::error_code, std::size_t) {});
  beck::cancellation_signal stop;
  std::vector<int> order;
  beck::detail::job_operation(ctx, &count, &calls, 0)(
      beck::bind_cancellation_slot(stop.slot(), [&](beck::error_code ec, std::size_t) {
        CHECK(ec == beck::error::operation_aborted);
        order.push_back(1);
      }));
  beck::detail::job_operation(ctx, &count, &calls, 0)([&](beck::error_code ec, std::size_t) {
    CHECK(!ec);
    order.push_back(2);
  });
  ctx.poll();
  if (!is_virtual()) g.expect_inside(at_once);
  beck::post(ctx, [&] { stop.emit(beck::cancellation_type::all); });
  ctx.run_one();  // the post
  ctx.run_one();  // the cancelled job: those before it are still inside
  CHECK(order == std::vector<int>{1});
  g.let_pass();
  ctx.run();
  CHECK(order == std::vector<int>{1, 2});
  CHECK(calls == 1);
}

CONFORMANCE("a job that is being performed ends when its call returns, with its value") {
  gate g;
  beck::io_context ctx(context_options());
  beck::cancellation_signal stop;
  bool done = false;
  pass_gate(ctx,
            g)(beck::bind_cancellation_slot(stop.slot(), [&](beck::error_code ec, std::size_t n) {
    CHECK(!ec);  // the completion is the truth
    CHECK(n == 1);
    done = true;
  }));
  ctx.poll();
  if (!is_virtual()) g.expect_inside(1);
  beck::post(ctx, [&] { stop.emit(beck::cancellation_type::all); });
  CHECK(ctx.run_one() == 1);
  CHECK(!done);
  g.let_pass();
  ctx.run();
  CHECK(done);
}

CONFORMANCE("a call that was cancelled and gives ECANCELED is an aborted operation") {
  beck::io_context ctx(context_options());
  bool done = false;
  beck::detail::job_operation(ctx, &forget)([&](beck::error_code ec, std::size_t) {
    CHECK(ec == beck::error::operation_aborted);
    done = true;
  });
  ctx.run();
  CHECK(done);
}

CONFORMANCE("a time limit ends a job that waits for its turn") {
  gate g;
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  const auto body = [](beck::io_context& c, gate& in, std::atomic<int>& n) -> beck::task<> {
    const auto late = co_await beck::timeout(beck::detail::job_operation(c, &count, &n, 0), 0ms);
    CHECK(late.error() == beck::error::timeout);
    in.let_pass();
  };
  for (int i = 0; i < at_once; ++i) pass_gate(ctx, g)([](beck::error_code, std::size_t) {});
  beck::co_spawn(ctx, body(ctx, g, calls), beck::detached);
  ctx.run();
  CHECK(calls == 0);
}

CONFORMANCE("a context is destroyed with jobs running and queued") {
  gate g;
  const auto token = std::make_shared<int>(0);
  std::thread opener;
  {
    beck::io_context ctx(context_options());
    for (int i = 0; i < 3 * at_once; ++i) {
      pass_gate(ctx, g)([held = token](beck::error_code, std::size_t) {
        FAIL("a handler ran although its context was destroyed");
      });
    }
    ctx.poll();
    if (!is_virtual()) {
      g.expect_inside(at_once);
      opener = std::thread([&g] { g.let_pass(); });
    }
  }
  if (opener.joinable()) opener.join();
  CHECK(token.use_count() == 1);
  if (is_virtual()) CHECK(g.inside == at_once);  // what was queued is never performed
}

CONFORMANCE("a coroutine that waits for a job is destroyed with its context") {
  gate g;
  const auto token = std::make_shared<int>(0);
  std::thread opener;
  const auto body = [](beck::io_context& c, gate& in, std::shared_ptr<int>) -> beck::task<> {
    beck::ignore(co_await pass_gate(c, in));
    FAIL("a coroutine went on although its context was destroyed");
  };
  {
    beck::io_context ctx(context_options());
    for (int i = 0; i < 2 * at_once; ++i) beck::co_spawn(ctx, body(ctx, g, token), beck::detached);
    ctx.poll();
    if (!is_virtual()) {
      g.expect_inside(at_once);
      opener = std::thread([&g] { g.let_pass(); });
    }
  }
  if (opener.joinable()) opener.join();
  CHECK(token.use_count() == 1);
}

CONFORMANCE("jobs are started before anybody runs the context") {
  beck::io_context ctx(context_options());
  std::atomic<int> calls{0};
  int handlers = 0;
  for (int i = 0; i < 3; ++i) {
    beck::detail::job_operation(ctx, &count, &calls,
                                0)([&](beck::error_code, std::size_t) { ++handlers; });
    ctx.run();
    ctx.restart();
  }
  CHECK(handlers == 3);
}

CONFORMANCE_ON(beck::test::kernel, "jobs are started by threads that do not run the context") {
  beck::io_context ctx(context_options());
  auto guard = std::make_optional(beck::make_work_guard(ctx));
  std::atomic<int> calls{0};
  std::atomic<int> handlers{0};
  std::thread running([&ctx] { ctx.run(); });
  std::vector<std::thread> starters;
  constexpr int starters_count = 3, each = 50;
  for (int t = 0; t < starters_count; ++t) {
    starters.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        beck::detail::job_operation(ctx, &count, &calls,
                                    0)([&](beck::error_code, std::size_t) { ++handlers; });
      }
    });
  }
  for (std::thread& t : starters) t.join();
  guard.reset();
  running.join();
  CHECK(handlers == starters_count * each);
  CHECK(calls == starters_count * each);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim, "threads of a shared context share its pool") {
  beck::io_context ctx(context_options({.threads = 3}));
  std::atomic<int> calls{0};
  std::atomic<int> handlers{0};
  constexpr int chains = 8, links = 20;
  const auto body = [](beck::io_context& c, std::atomic<int>& n,
                       std::atomic<int>& h) -> beck::task<> {
    for (int i = 0; i < links; ++i) {
      const auto got = co_await beck::detail::job_operation(c, &count, &n, 0);
      CHECK(!got.error());
    }
    ++h;
  };
  for (int i = 0; i < chains; ++i) beck::co_spawn(ctx, body(ctx, calls, handlers), beck::detached);
  std::vector<std::thread> threads;
  if (!is_virtual()) {
    for (int i = 0; i < 2; ++i) threads.emplace_back([&ctx] { ctx.run(); });
  }
  ctx.run();
  for (std::thread& t : threads) t.join();
  CHECK(handlers == chains);
  CHECK(calls == chains * links);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim,
               "a shared context is destroyed with jobs running and queued") {
  gate g;
  const auto token = std::make_shared<int>(0);
  std::thread opener;
  {
    beck::io_context ctx(context_options({.threads = 2}));
    for (int i = 0; i < 3 * at_once; ++i)
      pass_gate(ctx, g)([held = token](beck::error_code, std::size_t) {});
    ctx.poll();
    if (!is_virtual()) {
      g.expect_inside(at_once);
      opener = std::thread([&g] { g.let_pass(); });
    }
  }
  if (opener.joinable()) opener.join();
  CHECK(token.use_count() == 1);
}

CONFORMANCE("a job that nobody waits for does not keep run() from returning") {
  gate g;
  beck::io_context ctx(context_options());
  auto job = pass_gate(ctx, g);
  bool done = false;
  auto detached = std::move(job);
  detached.detach();
  std::move(detached)([&](beck::error_code, std::size_t) { done = true; });
  ctx.poll();
  if (!is_virtual()) g.expect_inside(1);
  CHECK(ctx.run() == 0);
  CHECK(!done);
  g.let_pass();
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork does not wait for jobs of its parent") {
  gate g;
  const auto token = std::make_shared<int>(0);
  auto ctx = std::make_unique<beck::io_context>(context_options());
  int handlers = 0;
  for (int i = 0; i < 2 * at_once; ++i) {
    pass_gate(*ctx, g)([&handlers, held = token](beck::error_code, std::size_t) { ++handlers; });
  }
  ctx->poll();
  g.expect_inside(at_once);
  // A fork that finds a thread of the pool inside its lock ends as well, but frees nothing there.
  int freed = 0;
  for (int tries = 0; tries < 100 && freed == 0; ++tries) {
    const pid_t child = ::fork();
    if (child == 0) {
      ctx.reset();
      ::_exit(static_cast<int>(token.use_count()));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 1) ++freed;
  }
  CHECK(freed == 1);
  g.let_pass();
  ctx->run();
  CHECK(handlers == 2 * at_once);
}
