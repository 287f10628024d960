// SPDX-License-Identifier: BSL-1.0
// A user's shared object that has a static libbeck of its own: host.cpp loads several of them.
#include <beck/beck.hpp>

#include <chrono>
#include <csignal>
#include <memory>

namespace {

struct watch {
  beck::io_context context{1};
  beck::signal_set signals{context};
  int seen = 0;

  void wait() {
    signals.async_wait([this](std::error_code error, int) {
      if (error) return;
      ++seen;
      wait();
    });
  }
};

std::unique_ptr<watch> watching;

beck::task<> wait_and_count(beck::io_context& context, int& runs) {
  beck::steady_timer timer(context);
  timer.expires_after(std::chrono::milliseconds(0));
  co_await timer.async_wait();
  ++runs;
}

}  // namespace

/// Runs a context with a coroutine and a timer. Returns 1.
extern "C" int plugin_run() {
  beck::io_context context(1);
  int runs = 0;
  beck::co_spawn(context, wait_and_count(context, runs), beck::detached);
  context.run();
  return runs;
}

/// Waits for SIGUSR1 from now on.
extern "C" int plugin_watch() {
  watching = std::make_unique<watch>();
  watching->signals.add(SIGUSR1);
  watching->wait();
  return 0;
}

/// Returns how many signals have come.
extern "C" int plugin_seen() {
  watching->context.poll();
  watching->context.restart();
  return watching->seen;
}

extern "C" int plugin_unwatch() {
  watching.reset();
  return 0;
}
