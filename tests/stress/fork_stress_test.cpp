// SPDX-License-Identifier: BSL-1.0
// U16 under fire: a parent whose threads run contexts and make, start and destroy objects of them
// forks again and again, in the middle of whatever they do. Each child destroys what it inherited,
// makes a context of its own and runs it. An alarm ends a child that hangs.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/context_options.hpp"
#include "support/endless_tasks.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::ip::tcp;
using beck::test::scaled;
using beck::test::stream_pair;

namespace {

constexpr unsigned watchdog_s = 20;
constexpr int crowded = 1000;  // in descriptors

beck::task<> tick(beck::io_context& ctx) {
  for (;;) {
    beck::steady_timer timer(ctx, 100us);
    const auto waited = co_await timer.async_wait();
    if (waited.error()) co_return;
  }
}

/// Two contexts, one that threads run, and one that nobody does; and threads that never stop to
/// make and destroy objects of both.
class busy_parent {
 public:
  busy_parent(const beck::io_context::options& how, int runners)
      : hot_(std::make_unique<beck::io_context>(how)),
        idle_(std::make_unique<beck::io_context>(how)) {
    for (int i = 0; i < 4; ++i) {
      pairs_.push_back(std::make_unique<stream_pair>(*hot_));
      beck::co_spawn(*hot_, beck::test::bounce(*pairs_.back()), beck::detached);
    }
    for (beck::io_context* const ctx : {hot_.get(), idle_.get()}) {
      own_.push_back(std::make_unique<objects>(*ctx));
      beck::co_spawn(*ctx, tick(*ctx), beck::detached);
      beck::co_spawn(*ctx, beck::test::read_files(*ctx), beck::detached);
    }
    for (int i = 0; i < runners; ++i) threads_.emplace_back([this] { hot_->run(); });
    threads_.emplace_back([this] { churn(*hot_); });
    threads_.emplace_back([this] { churn(*idle_); });
  }

  ~busy_parent() {
    ends_.store(true);
    hot_->stop();
    for (std::thread& each : threads_) each.join();
  }
  busy_parent(const busy_parent&) = delete;
  busy_parent& operator=(const busy_parent&) = delete;

  /// In a child: the threads are the parent's. Gives how many descriptors are still open.
  int destroy() {
    std::vector<int> open;
    for (const auto& each : own_) each->name_descriptors(open);
    for (const auto& each : pairs_) {
      open.push_back(each->a.native_handle());
      open.push_back(each->b.native_handle());
    }
    own_.clear();
    pairs_.clear();
    hot_.reset();
    idle_.reset();
    int left = 0;
    for (const int fd : open) left += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return left;
  }

 private:
  /// What the forking thread owns.
  struct objects {
    explicit objects(beck::io_context& ctx)
        : pair(ctx),
          acceptor(ctx, tcp::endpoint(tcp::v4(), 0)),
          timer(ctx, 1h),
          signals(ctx, SIGUSR2),
          resolver(ctx) {
      timer.async_wait([](beck::error_code) {});
      signals.async_wait([](beck::error_code, int) {});
      acceptor.async_accept([](beck::error_code, tcp::socket) {});
      pair.a.async_read_some(beck::buffer(space), [](beck::error_code, std::size_t) {});
    }
    void name_descriptors(std::vector<int>& open) {
      open.push_back(pair.a.native_handle());
      open.push_back(pair.b.native_handle());
      open.push_back(acceptor.native_handle());
    }
    std::array<char, 64> space;
    stream_pair pair;
    tcp::acceptor acceptor;
    beck::steady_timer timer;
    beck::signal_set signals;
    tcp::resolver resolver;
  };

  void churn(beck::io_context& ctx) {
    std::array<char, 64> space;
    for (unsigned round = 0; !ends_.load(std::memory_order_relaxed); ++round) {
      stream_pair pair(ctx);
      beck::steady_timer timer(ctx, 1h);
      beck::signal_set signals(ctx, SIGUSR1);
      timer.async_wait([](beck::error_code) {});
      pair.a.async_read_some(beck::buffer(space), [](beck::error_code, std::size_t) {});
      timer.cancel();
      pair.a.cancel();
      if (round % 16 == 0) std::thread([&ctx] { beck::post(ctx, [] {}); }).join();
      pair.a.close();
      wait_for_closes();
    }
  }

  /// What other threads close is closed by the runner. On a busy machine it may be late, while the
  /// descriptors that wait for it get ever more. New ones have the lowest free number.
  void wait_for_closes() const {
    while (::fcntl(crowded, F_GETFD) >= 0 && !ends_.load(std::memory_order_relaxed))
      std::this_thread::yield();
  }

  std::atomic<bool> ends_{false};
  std::unique_ptr<beck::io_context> hot_;
  std::unique_ptr<beck::io_context> idle_;
  std::vector<std::unique_ptr<stream_pair>> pairs_;
  std::vector<std::unique_ptr<objects>> own_;
  std::vector<std::thread> threads_;
};

beck::task<> echo_once(stream_pair& pair, int& bytes) {
  char space[4] = {};
  beck::ignore(co_await beck::async_write(pair.a, beck::buffer("echo", 4)));
  const auto got = co_await beck::async_read(pair.b, beck::buffer(space));
  bytes += static_cast<int>(got.value());
}

/// Whether a context that the child makes works.
bool own_context_works(const beck::io_context::options& how) {
  int bytes = 0;
  beck::io_context ctx(how);
  stream_pair pair(ctx);
  beck::signal_set signals(ctx, SIGUSR1);
  beck::steady_timer timer(ctx, 10us);
  timer.async_wait([&](beck::error_code ec) { bytes += ec ? 0 : 1; });
  signals.async_wait([&](beck::error_code ec, int) { bytes += ec ? 0 : 1; });
  beck::co_spawn(ctx, echo_once(pair, bytes), beck::detached);
  ::raise(SIGUSR1);
  ctx.run();
  return bytes == 6;
}

enum : int { fine, left_open, does_not_work };

int live_as_child(busy_parent& parent, const beck::io_context::options& how) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(watchdog_s);
  if (parent.destroy() != 0) return left_open;
  return own_context_works(how) ? fine : does_not_work;
}

void check_forks(const beck::io_context::options& how, int runners, int forks) {
  int hung = 0;
  int died = 0;
  std::array<int, 3> ends{};
  busy_parent parent(how, runners);
  for (int i = 0; i < forks && hung < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(live_as_child(parent, how));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= does_not_work) {
      ++ends[static_cast<std::size_t>(WEXITSTATUS(status))];
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
      ++hung;
    } else {
      ++died;
    }
  }
  CHECK(hung == 0);
  CHECK(died == 0);
  CHECK(ends[left_open] == 0);
  CHECK(ends[does_not_work] == 0);
  CHECK(ends[fine] == forks);
  beck::test::report_value("forks", forks);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "no child hangs that a parent makes whose threads are busy with a context") {
  check_forks(context_options(), 1, scaled(40, 400));
}

CONFORMANCE_ON(beck::test::epoll,
               "no child hangs that a parent makes whose threads are busy with a shared context") {
  check_forks(context_options({.threads = 2}), 2, scaled(20, 200));
}
