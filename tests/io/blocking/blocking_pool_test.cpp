// SPDX-License-Identifier: BSL-1.0
//
// The threads behind blocking operations: how many there are, which signals they take, and that a
// context leaves none behind.
#include <algorithm>
#include <beck/detail/job_operation.hpp>
#include <beck/io/io_context.hpp>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "io/blocking/job_line.hpp"

namespace {

constexpr int threads_max = static_cast<int>(beck::detail::job_line::jobs_at_once_max);

/// Calls stay inside until the gate opens; counts who is inside.
struct gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int inside = 0;
  int inside_max = 0;
  int entered = 0;
  std::set<std::thread::id> threads;

  void pass() {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    ++entered;
    inside_max = std::max(inside_max, ++inside);
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    --inside;
  }
  void expect_inside(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside == count; });
  }
  void let_pass() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

std::ptrdiff_t pass_gate(beck::detail::system&, beck::detail::io_op& op) noexcept {
  static_cast<gate*>(op.address)->pass();
  return static_cast<std::ptrdiff_t>(op.length);
}

beck::io_context::options on_epoll() { return {.backend = beck::backend::epoll}; }

}  // namespace

TEST_CASE("jobs never take all the places of a pool") {
  beck::detail::job_line line;
  const auto make = [](beck::detail::op_kind kind) {
    return beck::detail::io_op(kind, nullptr, nullptr, 0);
  };
  std::deque<beck::detail::io_op> jobs, others;
  for (int i = 0; i < 6; ++i) line.push(jobs.emplace_back(make(beck::detail::op_kind::job)));
  CHECK(line.may_begin() == 4);
  CHECK(&line.begin() == &jobs[0]);
  for (int i = 0; i < 10; ++i) line.push(others.emplace_back(make(beck::detail::op_kind::receive)));
  CHECK(line.may_begin() == 7);
  for (int i = 0; i < 7; ++i) CHECK(&line.begin() == &others[static_cast<std::size_t>(i)]);
  CHECK(line.may_begin() == 0);
  line.end(jobs[0]);
  CHECK(line.may_begin() == 1);
  CHECK(&line.begin() == &jobs[1]);  // nor do the others
  CHECK(line.remove(jobs[3]));
  CHECK(!line.remove(jobs[3]));
  CHECK(!line.remove(jobs[1]));
  int left = 0;
  while (line.remove_any() != nullptr) ++left;
  CHECK(left == 6);
  CHECK(line.performed() == 8);
}

TEST_CASE("a fixed number of jobs is performed at once, and all of them in the end") {
  gate g;
  beck::io_context ctx(on_epoll());
  constexpr int jobs = 20;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    beck::detail::job_operation(ctx, &pass_gate, &g, i)([&](beck::error_code ec, std::size_t n) {
      CHECK(!ec);
      sum += n;
    });
  }
  ctx.poll();
  g.expect_inside(threads_max);
  CHECK(ctx.stats().outstanding == jobs);
  g.let_pass();
  CHECK(ctx.run() == jobs);
  CHECK(sum == jobs * (jobs - 1) / 2);
  CHECK(g.inside_max == threads_max);
  CHECK(g.threads.size() == static_cast<std::size_t>(threads_max));
}

TEST_CASE("a second job gets a thread of its own only if the first one has none to spare") {
  gate g;
  g.let_pass();
  beck::io_context ctx(on_epoll());
  for (int i = 0; i < 50; ++i) {
    beck::detail::job_operation(ctx, &pass_gate, &g, 0)([](beck::error_code, std::size_t) {});
    CHECK(ctx.run() == 1);
    ctx.restart();
  }
  CHECK(g.entered == 50);
  CHECK(g.threads.size() <= 2);  // a thread may still be on its way back to the queue
}

TEST_CASE("signals of the process never arrive in a thread of the pool") {
  beck::io_context ctx(on_epoll());
  bool blocked = false;
  const auto look = [](beck::detail::system&, beck::detail::io_op& op) noexcept -> std::ptrdiff_t {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    bool all = true;
    for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM})
      all = all && ::sigismember(&mask, number) == 1;
    *static_cast<bool*>(op.address) = all;
    return 0;
  };
  beck::detail::job_operation(ctx, look, &blocked, 1)([](beck::error_code, std::size_t) {});
  sigset_t mine_before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mine_before);
  ctx.run();
  CHECK(blocked);
  CHECK(::sigismember(&mine_before, SIGUSR1) == 0);  // and the caller's are as they were
}

TEST_CASE("a sleeping context is woken by a job, once for each sleep") {
  gate g;
  beck::io_context ctx(on_epoll());
  bool done = false;
  beck::detail::job_operation(ctx, &pass_gate, &g,
                              0)([&](beck::error_code, std::size_t) { done = true; });
  std::thread opener([&g] {
    g.expect_inside(1);
    g.let_pass();
  });
  ctx.run();
  opener.join();
  CHECK(done);
  CHECK(ctx.stats().wakeups <= 1);
}

TEST_CASE("contexts come and go with jobs in every state") {
  for (int round = 0; round < 30; ++round) {
    gate g;
    if (round % 2 == 0) g.let_pass();
    std::thread opener;
    const auto token = std::make_shared<int>(0);
    {
      beck::io_context ctx(on_epoll());
      for (int i = 0; i < 2 * threads_max; ++i) {
        beck::detail::job_operation(ctx, &pass_gate, &g,
                                    0)([token](beck::error_code, std::size_t) {});
      }
      if (round % 3 != 0) ctx.poll();
      if (round % 2 == 1 && round % 3 != 0) {
        g.expect_inside(threads_max);
        opener = std::thread([&g] { g.let_pass(); });
      }
    }
    if (opener.joinable()) opener.join();
    CHECK(token.use_count() == 1);
    CHECK(g.inside == 0);
    CHECK(g.entered <= 2 * threads_max);
  }
}
