// SPDX-License-Identifier: BSL-1.0
// The baton as the library makes it, with futexes and an eventfd, on real threads: what the
// interleaving checker explores with models of both.
#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include "io/shared/baton.hpp"
#include "io/system/wake.hpp"
#include "support/scale.hpp"

namespace {

constexpr std::int64_t no_deadline = INT64_MAX;
constexpr std::int64_t long_ago = 1;

// A shared context without descriptors: runners, a queue that is a number, a wait in the kernel.
class counting_context {
 public:
  counting_context() {
    baton_.open(wake_fd_);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event);
  }
  ~counting_context() {
    baton_.finish();
    ::close(epoll_fd_);
    ::close(wake_fd_);
  }

  void post() {
    std::unique_lock lock(mutex_);
    ++queued_;
    const auto owed = baton_.claim(1);
    lock.unlock();
    beck::detail::baton::deliver(owed);
  }
  void stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    const auto owed = baton_.claim(beck::detail::baton::everybody);
    lock.unlock();
    beck::detail::baton::deliver(owed);
  }

  void run() {
    bool was_idle = false;
    std::unique_lock lock(mutex_);
    while (queued_ != 0 || !stopped_) {
      if (queued_ != 0) {
        --queued_;
        lock.unlock();
        if (was_idle) beck::detail::baton::deliver(baton_.hand_on());
        was_idle = false;
        ran.fetch_add(1, std::memory_order_relaxed);
      } else {
        const auto seat = baton_.settle();
        lock.unlock();
        wait(seat);
        was_idle = true;
      }
      lock.lock();
    }
    lock.unlock();
    beck::detail::baton::deliver(baton_.hand_on());
  }

  std::atomic<int> ran{0};

 private:
  void wait(beck::detail::baton::seat seat) {
    if (seat == beck::detail::baton::seat::futex) {
      baton_.sleep(no_deadline);
      return;
    }
    epoll_event event{};
    ::epoll_wait(epoll_fd_, &event, 1, -1);
    baton_.leave_kernel();
  }

  const int wake_fd_ = beck::detail::wake_open();
  const int epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  beck::detail::baton baton_;
  std::mutex mutex_;
  int queued_ = 0;
  bool stopped_ = false;
};

}  // namespace

TEST_CASE("a sleeper whose time is up leaves the baton and is not claimed any more") {
  beck::detail::baton baton;
  baton.open(7);
  CHECK(baton.settle() == beck::detail::baton::seat::kernel);
  CHECK(baton.settle() == beck::detail::baton::seat::futex);
  CHECK_FALSE(baton.sleep(long_ago));
  const auto owed = baton.claim(1);
  CHECK(owed.sleepers == 0);
  CHECK(owed.wake_fd == 7);
}

TEST_CASE("a claim before the futex is reached ends the sleep, even when its time is up") {
  beck::detail::baton baton;
  CHECK(baton.settle() == beck::detail::baton::seat::kernel);
  CHECK(baton.settle() == beck::detail::baton::seat::futex);
  CHECK(baton.claim(2).sleepers == 1);
  CHECK(baton.sleep(long_ago));
}

TEST_CASE("a baton owes no wake-up while nobody is idle") {
  beck::detail::baton baton;
  baton.open(7);
  const auto nothing = baton.claim(beck::detail::baton::everybody);
  CHECK(nothing.sleepers == 0);
  CHECK(nothing.wake_fd < 0);
  CHECK(baton.hand_on().sleepers == 0);
}

TEST_CASE("three runners that pass a baton run everything that two threads post") {
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
