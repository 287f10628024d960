// SPDX-License-Identifier: BSL-1.0
//
// signal_set and the process around it: the program's own handlers, other threads, children.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/run/work_guard.hpp>
#include <cerrno>
#include <csignal>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/context_options.hpp"

using beck::signal_info;
using beck::signal_set;
using beck::test::kernel;

namespace {

volatile std::sig_atomic_t own_handler_calls = 0;
void own_handler(int) { own_handler_calls = own_handler_calls + 1; }

/// The program's own handler for a signal while it lives.
class installed {
 public:
  explicit installed(int number) : number_(number) {
    own_handler_calls = 0;
    struct sigaction mine{};
    mine.sa_handler = &own_handler;
    ::sigaction(number, &mine, &before_);
  }
  installed(const installed&) = delete;
  installed& operator=(const installed&) = delete;
  ~installed() { ::sigaction(number_, &before_, nullptr); }

 private:
  int number_;
  struct sigaction before_{};
};

bool is_default(int number) {
  struct sigaction current{};
  ::sigaction(number, nullptr, &current);
  return current.sa_handler == SIG_DFL;
}

/// Runs `ctx` until then. ThreadSanitizer puts signals off to the next call that it knows: a thread
/// that sleeps in one that it does not know (io_uring_enter) would not hear of them.
template <class Done>
void run_until(beck::io_context& ctx, Done done) {
  while (!done()) {
    ctx.restart();
    if (beck::detail::thread_sanitizer) {
      ctx.poll();
      static_cast<void>(::poll(nullptr, 0, 0));  // a call that it knows; does not wait
    } else {
      ctx.run_one();
    }
  }
}

void send(int number, int value) {
  sigval with{};
  with.sival_int = value;
  while (::sigqueue(::getpid(), number, with) != 0) std::this_thread::yield();  // EAGAIN
}

}  // namespace

CONFORMANCE_ON(kernel, "what was there before the first set is back after the last") {
  const installed mine(SIGUSR1);
  beck::io_context ctx(context_options());
  {
    std::optional<signal_set> first(std::in_place, ctx, SIGUSR1);
    signal_set second(ctx, SIGUSR1);
    ::raise(SIGUSR1);
    CHECK(own_handler_calls == 0);
    first.reset();
    ::raise(SIGUSR1);
    CHECK(own_handler_calls == 0);
    second.remove(SIGUSR1);
    ::raise(SIGUSR1);
    CHECK(own_handler_calls == 1);
    second.add(SIGUSR1);
    ::raise(SIGUSR1);
    CHECK(own_handler_calls == 1);
  }
  ::raise(SIGUSR1);
  CHECK(own_handler_calls == 2);
}

CONFORMANCE_ON(kernel, "default actions are back after the last set too") {
  beck::io_context ctx(context_options());
  REQUIRE(is_default(SIGUSR2));
  signal_set set(ctx, SIGUSR2);
  CHECK_FALSE(is_default(SIGUSR2));
  set.clear();
  CHECK(is_default(SIGUSR2));
}

CONFORMANCE_ON(kernel, "a handler that the program has installed meanwhile stays") {
  beck::io_context ctx(context_options());
  std::optional<signal_set> set(std::in_place, ctx, SIGUSR1);
  {
    const installed mine(SIGUSR1);
    set.reset();
    ::raise(SIGUSR1);
    CHECK(own_handler_calls == 1);
  }
  ::signal(SIGUSR1, SIG_DFL);
}

CONFORMANCE_ON(kernel, "a handler leaves errno as it was") {
  beck::io_context ctx(context_options());
  signal_set set(ctx, SIGUSR1);
  errno = E2BIG;
  ::raise(SIGUSR1);
  CHECK(errno == E2BIG);
}

CONFORMANCE_ON(kernel, "the sender of a signal is known") {
  beck::io_context ctx(context_options());
  signal_set set(ctx, SIGUSR1, SIGCHLD);
  const pid_t child = ::fork();
  if (child == 0) {
    ::kill(::getppid(), SIGUSR1);
    ::_exit(0);
  }
  std::vector<signal_info> seen;
  for (std::size_t i = 1; i <= 2; ++i) {
    set.async_wait_info([&](beck::error_code, signal_info info) { seen.push_back(info); });
    run_until(ctx, [&] { return seen.size() == i; });
  }
  ::waitpid(child, nullptr, 0);
  REQUIRE(seen.size() == 2);
  for (const signal_info& info : seen) CHECK(info.sender == child);
  CHECK(seen[0].number == SIGUSR1);
  CHECK(seen[0].code == SI_USER);
  CHECK(seen[1].number == SIGCHLD);
}

CONFORMANCE_ON(kernel, "signals from another thread wake a context that sleeps, and none is lost") {
  if (beck::detail::thread_sanitizer) SKIP_CASE("ThreadSanitizer keeps one signal of each number");
  constexpr int count = 2000;
  beck::io_context ctx(context_options());
  const int number = SIGRTMIN + 4;
  signal_set set(ctx, number);
  std::atomic<int> seen{0};
  std::vector<int> values;
  auto waiter = [&]() -> beck::task<> {
    while (seen.load() < count) {
      const auto info = co_await set.async_wait_info();
      values.push_back(info.value().value);
      seen.fetch_add(1);
    }
  };
  beck::co_spawn(ctx, waiter, beck::detached);
  std::thread sender([&] {
    for (int i = 0; i < count; ++i) {
      while (i - seen.load() > 200) std::this_thread::yield();  // less than a set keeps
      send(number, i);
    }
  });
  run_until(ctx, [&] { return seen.load() == count; });
  sender.join();
  REQUIRE(values.size() == count);
  std::vector<bool> once(count);
  for (const int value : values) once[static_cast<std::size_t>(value)] = true;
  CHECK(std::count(once.begin(), once.end(), true) == count);
}

CONFORMANCE_ON(kernel, "sets come and go in several threads while signals arrive") {
  const int number = SIGRTMIN + 5;
  beck::io_context guard_ctx(context_options());
  signal_set guard(guard_ctx, number);  // its default action would end the program
  std::atomic<bool> over{false};
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t) {
    users.emplace_back([&, backend = beck::test::current_backend()] {
      for (int i = 0; i < 50; ++i) {
        beck::io_context ctx({.backend = backend});
        signal_set set(ctx, number);
        int got = 0;
        set.async_wait([&](beck::error_code, int) { ++got; });
        ctx.poll();
        set.remove(number);
        set.add(number);
        ctx.poll();
      }
    });
  }
  std::thread sender([&] {
    while (!over.load()) {
      send(number, 1);
      std::this_thread::yield();
    }
  });
  for (std::thread& user : users) user.join();
  over.store(true);
  sender.join();
  CHECK(users.size() == 3);
}

CONFORMANCE_ON(kernel, "cancel and destruction off the runner end the waits there") {
  beck::io_context ctx(context_options());
  auto work = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  std::atomic<int> aborted{0};
  const auto note = [&](beck::error_code ec, int) {
    aborted.fetch_add(ec == beck::error::operation_aborted ? 1 : 0);
  };
  {
    signal_set set(ctx, SIGUSR1);
    for (int i = 0; i < 10; ++i) {
      set.async_wait(note);
      set.cancel();
    }
    set.async_wait(note);
  }
  work.reset();
  runner.join();
  CHECK(aborted.load() == 11);
}

CONFORMANCE_ON(kernel, "a child of fork meets the action that was there before") {
  // Where the parent has run virtual threads, its signal never arrives.
  if (beck::detail::thread_sanitizer) SKIP_CASE("ThreadSanitizer loses signals of a child of fork");
  beck::io_context ctx(context_options());
  signal_set set(ctx, SIGUSR1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGUSR1);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR1);
  int got = 0;
  set.async_wait([&](beck::error_code ec, int) { got += ec ? 0 : 1; });
  CHECK(ctx.poll() == 0);
  ::raise(SIGUSR1);
  ctx.run();
  CHECK(got == 1);
}

CONFORMANCE_ON(kernel, "a signal that a child of fork gets at once has its earlier action there") {
  if (beck::detail::thread_sanitizer) SKIP_CASE("ThreadSanitizer loses signals of a child of fork");
  beck::io_context ctx(context_options());
  signal_set set(ctx, SIGTERM);
  constexpr int rounds = 50;
  int ended = 0;
  for (int i = 0; i < rounds; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(5);  // where the signal is lost
      for (;;) ::pause();
    }
    ::kill(child, SIGTERM);  // mostly before the handlers of pthread_atfork have run there
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) break;
    ++ended;
  }
  CHECK(ended == rounds);
  int got = 0;
  set.async_wait([&](beck::error_code ec, int) { got += ec ? 0 : 1; });
  CHECK(ctx.poll() == 0);  // none of them came here
  ::raise(SIGTERM);
  ctx.run();
  CHECK(got == 1);
}
