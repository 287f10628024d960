// SPDX-License-Identifier: BSL-1.0
//
// S9: signals interrupt system calls at any point; no operation and no synchronous call tells its
// caller. Another thread sends them as fast as it can, with a handler that restarts nothing.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <chrono>
#include <ostream>
#include <set>
#include <string>
#include <thread>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/echo_load.hpp"
#include "support/open_descriptors.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;

namespace {

/// Work is repeated until it has met as many signals as a case wants, but not more often than this.
constexpr int rounds_max = 10'000;

/// Interrupts the thread that made it until it is destroyed; its own thread gets none of the
/// signals.
class storm {
 public:
  storm() : target_(pthread_self()) {
    struct sigaction quiet{};
    quiet.sa_handler = [](int) {};  // and no SA_RESTART
    sigaction(SIGUSR1, &quiet, &before_);
    thread_ = std::thread([this] {
      while (!over_.load(std::memory_order_relaxed)) {
        pthread_kill(target_, SIGUSR1);
        sent_.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::yield();
      }
    });
    while (sent() == 0) std::this_thread::yield();
  }
  storm(const storm&) = delete;
  storm& operator=(const storm&) = delete;
  ~storm() {
    over_.store(true, std::memory_order_relaxed);
    thread_.join();
    sigaction(SIGUSR1, &before_, nullptr);
  }

  unsigned sent() const { return sent_.load(std::memory_order_relaxed); }

 private:
  pthread_t target_;
  struct sigaction before_{};
  std::atomic<bool> over_{false};
  std::atomic<unsigned> sent_{0};
  std::thread thread_;
};

beck::task<> answer(beck::test::stream_socket& socket, int messages, int& failures) {
  char data[64];
  for (int i = 0; i < messages; ++i) {
    const auto [ec, n] = co_await beck::async_read(socket, beck::buffer(data));
    const auto [write_ec, m] = co_await beck::async_write(socket, beck::buffer(data));
    if (ec || write_ec || n != sizeof data || m != sizeof data) ++failures;
  }
}

beck::task<> ask(beck::test::stream_socket& socket, beck::io_context& ctx, int messages,
                 int& failures) {
  const std::string sent = beck::test::pattern(64);
  std::string got(64, '\0');
  beck::steady_timer timer(ctx);
  for (int i = 0; i < messages; ++i) {
    const auto due = beck::steady_now() + 1ms;
    timer.expires_at(due);  // so that the loop also waits, for a point in time
    const auto waited = co_await timer.async_wait();
    if (!waited || beck::steady_now() < due) ++failures;
    const auto [write_ec, n] = co_await beck::async_write(socket, beck::buffer(sent));
    const auto [ec, m] = co_await beck::async_read(socket, beck::buffer(got));
    if (ec || write_ec || got != sent) ++failures;
  }
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "signals that interrupt the waits of a loop have no effect on it") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  int failures = 0;
  const storm signals;
  co_spawn(ctx, answer(pair.a, 50, failures), beck::detached);
  co_spawn(ctx, ask(pair.b, ctx, 50, failures), beck::detached);
  ctx.run();
  CHECK(failures == 0);
  CHECK(signals.sent() > 0);
}

CONFORMANCE_ON(beck::test::kernel, "signals that interrupt a synchronous read do not end it") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  const int peer = pair.b.native_handle();
  const storm signals;
  std::thread writer([&signals, peer] {
    while (signals.sent() < 2000) std::this_thread::yield();
    CHECK(::write(peer, "x", 1) == 1);
  });
  char data[1];
  beck::error_code ec;
  CHECK(pair.a.read_some(beck::buffer(data), ec) == 1);
  CHECK(ec == beck::error_code());
  writer.join();
}

CONFORMANCE_ON(beck::test::kernel,
               "S9: every kind of transfer arrives whole under a storm of signals") {
  beck::io_context ctx(context_options());
  const storm signals;
  for (int round = 0; round < 3 || (signals.sent() < 100 && round < rounds_max); ++round) {
    beck::test::echo_load load(ctx, 4, 9);
    ctx.run();
    ctx.restart();
    REQUIRE(load.finished() == 4);
    REQUIRE(load.wrong_bytes() == 0);
  }
  CHECK(signals.sent() >= 100);
}

CONFORMANCE_ON(beck::test::kernel,
               "S9: connections are made and closed under a storm of signals, and none leaks") {
  beck::io_context ctx(context_options());
  const std::set<int> before = beck::test::open_descriptors();
  {
    const storm signals;
    for (int i = 0; i < beck::test::scaled(30); ++i) {
      const beck::test::tcp_connection c(ctx);
      CHECK(c.client.is_open());
    }
  }
  CHECK(beck::test::open_descriptors() == before);
}
