// SPDX-License-Identifier: BSL-1.0
// U16 where the parent has more threads: one of them is inside the context at the fork, in the
// middle of a handler. Its copy in the child may be half changed, so the child's destructors close
// what is open and touch nothing else. Children that would hang are ended by an alarm.
#include <beck/io/io_pool.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/run/stop_token.hpp>
#include <beck/run/thread_pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dies.hpp"
#include "support/context_options.hpp"
#include "support/open_descriptors.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::stream_pair;

namespace {

constexpr unsigned watchdog_s = 10;

/// The exit status of a child that runs `code`; -1 if a signal ended it, the alarm for one.
template <class Code>
int status_of_child(Code code) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(watchdog_s);
    ::_exit(code());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A context that another thread runs. It is inside a handler until release().
class occupied_context {
 public:
  explicit occupied_context(const beck::io_context::options& how)
      : context(std::make_unique<beck::io_context>(how)),
        pair(std::make_unique<stream_pair>(*context)),
        timer(std::make_unique<beck::steady_timer>(*context, 1h)),
        signals(std::make_unique<beck::signal_set>(*context, SIGUSR2)) {
    pair->a.async_read_some(beck::buffer(space), [held = life](beck::error_code, std::size_t) {});
    timer->async_wait([held = life](beck::error_code) {});
    signals->async_wait([held = life](beck::error_code, int) {});
    beck::post(*context, [this] {
      inside_.store(true);
      inside_.notify_one();
      released_.wait(false);
    });
    worker_ = std::thread([this] { context->run(); });
    inside_.wait(false);
  }
  ~occupied_context() {
    release();
    context->stop();
    worker_.join();
  }
  occupied_context(const occupied_context&) = delete;
  occupied_context& operator=(const occupied_context&) = delete;

  void release() {
    released_.store(true);
    released_.notify_one();
  }

  /// In a child.
  void destroy() {
    pair.reset();
    timer.reset();
    signals.reset();
    context.reset();
  }

  std::shared_ptr<int> life = std::make_shared<int>();
  std::array<char, 64> space{};
  std::unique_ptr<beck::io_context> context;
  std::unique_ptr<stream_pair> pair;
  std::unique_ptr<beck::steady_timer> timer;
  std::unique_ptr<beck::signal_set> signals;

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> released_{false};
  std::thread worker_;
};

std::vector<beck::io_context::options> exclusive_and_shared() {
  std::vector<beck::io_context::options> all{context_options()};
  if (beck::test::current_backend() == beck::test::on_epoll) {
    all.push_back(context_options({.threads = 2}));
  }
  return all;
}

/// How often the eventfds of this process were written to.
std::string wake_ups() {
  std::string all;
  for (const int fd : beck::test::open_descriptors()) {
    const std::string path = "/proc/self/fdinfo/" + std::to_string(fd);
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    for (char line[128]; std::fgets(line, sizeof line, file) != nullptr;) {
      if (std::string(line).find("eventfd-count") == 0) all += line;
    }
    std::fclose(file);
  }
  return all;
}

}  // namespace

CONFORMANCE_ON(kernel, "a child of fork closes what it inherited while another thread was inside") {
  for (const auto& how : exclusive_and_shared()) {
    const auto before = beck::test::open_descriptors();
    occupied_context parent(how);
    CHECK(status_of_child([&] {
            const long alive = parent.life.use_count();
            parent.destroy();
            if (parent.life.use_count() != alive) return 1;  // nothing is known of handlers
            return beck::test::open_descriptors() == before ? 0 : 2;
          }) == 0);
    parent.release();
    CHECK(parent.pair->b.write_some(beck::buffer("x", 1)) == 1);
  }
}

CONFORMANCE_ON(kernel,
               "a child of fork closes, cancels and releases while another thread was inside") {
  for (const auto& how : exclusive_and_shared()) {
    occupied_context parent(how);
    CHECK(status_of_child([&] {
            beck::error_code ec;
            parent.timer->cancel();
            parent.signals->cancel();
            parent.pair->a.cancel(ec);
            if (ec) return 1;
            parent.pair->a.close(ec);
            if (ec || parent.pair->a.is_open()) return 2;
            const int fd = parent.pair->b.release(ec);
            if (ec || ::close(fd) != 0) return 3;
            parent.context->stop();
            std::ostringstream text;
            parent.context->dump(text);
            return text.str().find("child of fork") != std::string::npos ? 0 : 4;
          }) == 0);
  }
}

CONFORMANCE_ON(kernel, "a child of fork does not wake the thread that runs its parent's context") {
  for (const auto& how : exclusive_and_shared()) {
    beck::io_context ctx(how);
    stream_pair pair(ctx);
    auto guard = std::make_unique<beck::executor_work_guard<beck::io_context::executor_type>>(
        ctx.get_executor());
    std::atomic<bool> runs{false};
    beck::post(ctx, [&] {
      runs.store(true);
      runs.notify_one();
    });
    std::thread worker([&] { ctx.run(); });
    runs.wait(false);
    const std::string before = wake_ups();
    CHECK(status_of_child([&] {
            guard.reset();
            pair.a.close();
            ctx.stop();
            return 0;
          }) == 0);
    CHECK(wake_ups() == before);
    ctx.stop();
    worker.join();
  }
}

CONFORMANCE_ON(kernel,
               "a child of fork that runs a context which another thread ran ends with a message") {
  for (const auto& how : exclusive_and_shared()) {
    occupied_context parent(how);
    CHECK(dies_with([&] { parent.context->poll(); }).find("child of fork") != std::string::npos);
  }
}

CONFORMANCE_ON(kernel, "a child of fork drops registrations that another thread was calling") {
  const beck::stop_source source;
  std::atomic<int> called{0};
  std::atomic<bool> released{false};
  const auto wait = [&] {
    called.store(1);
    called.notify_one();
    released.wait(false);
  };
  auto callback = std::make_unique<beck::stop_callback<decltype(wait)>>(source.get_token(), wait);
  std::thread other([&] { source.request_stop(); });
  called.wait(0);
  CHECK(status_of_child([&] {
          callback.reset();
          return 0;
        }) == 0);
  released.store(true);
  released.notify_one();
  other.join();
}

CONFORMANCE_ON(kernel, "a child of fork destroys pools of threads that it inherited") {
  const auto before = beck::test::open_descriptors();
  auto pool = std::make_unique<beck::io_pool>(2, context_options());
  auto threads = std::make_unique<beck::thread_pool>(2);
  CHECK(status_of_child([&] {
          pool->stop();
          threads->stop();
          pool.reset();
          threads.reset();
          return beck::test::open_descriptors() == before ? 0 : 1;
        }) == 0);
  CHECK(dies_with([&] { pool->join(); }).find("child of fork") != std::string::npos);
  CHECK(dies_with([&] { threads->join(); }).find("child of fork") != std::string::npos);
}
