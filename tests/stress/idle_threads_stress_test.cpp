// SPDX-License-Identifier: BSL-1.0
// The idle_threads as the library makes it, with futexes and an eventfd, on real threads: what the
// interleaving checker explores with models of both.
#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include "io/shared/idle_threads.hpp"
#include "io/system/posix_system.hpp"
#include "support/scale.hpp"

namespace {

constexpr std::int64_t no_deadline = INT64_MAX;
constexpr std::int64_t long_ago = 1;

// A shared context without descriptors: runners, a queue that is a number, a wait in the kernel.
class counting_context {
 public:
  counting_context() {
    idle_threads_.open(wake_fd_);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event);
  }
  ~counting_context() {
    idle_threads_.finish();
    ::close(epoll_fd_);
    ::close(wake_fd_);
  }

  void post() {
    std::unique_lock lock(mutex_);
    ++queued_;
    const auto owed = idle_threads_.claim(1);
    lock.unlock();
    beck::detail::idle_threads::deliver(owed);
  }
  void stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    const auto owed = idle_threads_.claim(beck::detail::idle_threads::everybody);
    lock.unlock();
    beck::detail::idle_threads::deliver(owed);
  }

  void run() {
    bool was_idle = false;
    std::unique_lock lock(mutex_);
    while (queued_ != 0 || !stopped_) {
      if (queued_ != 0) {
        --queued_;
        lock.unlock();
        if (was_idle) beck::detail::idle_threads::deliver(idle_threads_.promote_follower());
        was_idle = false;
        ran.fetch_add(1, std::memory_order_relaxed);
      } else {
        const auto role = idle_threads_.begin_wait();
        lock.unlock();
        wait(role);
        was_idle = true;
      }
      lock.lock();
    }
    lock.unlock();
    beck::detail::idle_threads::deliver(idle_threads_.promote_follower());
  }

  std::atomic<int> ran{0};

 private:
  void wait(beck::detail::idle_threads::role role) {
    if (role == beck::detail::idle_threads::role::follower) {
      idle_threads_.sleep(no_deadline);
      return;
    }
    epoll_event event{};
    ::epoll_wait(epoll_fd_, &event, 1, -1);
    idle_threads_.step_down();
  }

  const int wake_fd_ = beck::detail::wake_open();
  const int epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  beck::detail::idle_threads idle_threads_;
  std::mutex mutex_;
  int queued_ = 0;
  bool stopped_ = false;
};

}  // namespace

TEST_CASE("a sleeper whose time is up leaves the idle_threads and is not claimed any more") {
  beck::detail::idle_threads idle_threads;
  idle_threads.open(7);
  CHECK(idle_threads.begin_wait() == beck::detail::idle_threads::role::leader);
  CHECK(idle_threads.begin_wait() == beck::detail::idle_threads::role::follower);
  CHECK_FALSE(idle_threads.sleep(long_ago));
  const auto owed = idle_threads.claim(1);
  CHECK(owed.sleepers == 0);
  CHECK(owed.wake_fd == 7);
}

TEST_CASE("a claim before the futex is reached ends the sleep, even when its time is up") {
  beck::detail::idle_threads idle_threads;
  CHECK(idle_threads.begin_wait() == beck::detail::idle_threads::role::leader);
  CHECK(idle_threads.begin_wait() == beck::detail::idle_threads::role::follower);
  CHECK(idle_threads.claim(2).sleepers == 1);
  CHECK(idle_threads.sleep(long_ago));
}

TEST_CASE("a idle_threads owes no wake-up while nobody is idle") {
  beck::detail::idle_threads idle_threads;
  idle_threads.open(7);
  const auto nothing = idle_threads.claim(beck::detail::idle_threads::everybody);
  CHECK(nothing.sleepers == 0);
  CHECK(nothing.wake_fd < 0);
  CHECK(idle_threads.promote_follower().sleepers == 0);
}

TEST_CASE("three runners that pass a idle_threads run everything that two threads post") {
  const int posts = beck::test::scaled(100'000);
  counting_context context;
  std::vector<std::thread> runners;
  for (int i = 0; i < 3; ++i) runners.emplace_back([&] { context.run(); });
  std::vector<std::thread> posters;
  for (int i = 0; i < 2; ++i) {
    posters.emplace_back([&] {
      for (int n = 0; n < posts; ++n) context.post();
    });
  }
  for (std::thread& t : posters) t.join();
  context.stop();
  for (std::thread& t : runners) t.join();
  CHECK(context.ran == 2 * posts);
}
