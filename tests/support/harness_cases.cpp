// SPDX-License-Identifier: BSL-1.0
// Cases that pass, fail, skip and die, for harness_test.py, which checks how the harness reports
// them. They are no part of the test suite: half of them are meant to fail.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/conformance.hpp"

CONFORMANCE("passes") { CHECK(beck::test::current_backend() == where); }

CONFORMANCE("passes too, in the same file") { CHECK(where != beck::test::automatic); }

CONFORMANCE_ON(beck::test::kernel, "applies to the kernel") { CHECK(where != beck::test::on_sim); }

CONFORMANCE("fails on one backend") { CHECK(where != beck::test::on_sim); }

CONFORMANCE("is skipped while it runs") {
  SKIP_CASE("the machine lacks it");
  FAIL("unreachable");
}

TEST_CASE("is no conformance case/epoll") {
  CHECK(beck::test::current_backend() == beck::test::automatic);
}

TEST_CASE("throws") { throw 1; }

TEST_CASE("fails and is skipped") {
  CHECK(false);
  SKIP_CASE("too late");
}

TEST_CASE("has parts") {
  SUBCASE("one") { CHECK(true); }
  SUBCASE("two") { CHECK(true); }
}

TEST_CASE("ignores no signal") { CHECK(bool{std::signal(SIGINT, SIG_DFL) == SIG_DFL}); }

TEST_CASE("reports a figure") {
  beck::test::report_value("schedules", 7);
  beck::test::report_fingerprint("seeds", 0xabcu);
}

TEST_CASE("is ended by a signal" * doctest::skip()) { std::abort(); }

TEST_CASE("waits for ever" * doctest::skip()) {
  for (;;) ::pause();
}

TEST_CASE("spins for ever" * doctest::skip()) {
  volatile std::atomic<bool> end{false};
  while (!end.load()) {}  // an atomic load, at which ThreadSanitizer delivers signals
}

TEST_CASE("waits in a child for ever" * doctest::skip()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    for (;;) ::pause();
  }
  ::waitpid(child, nullptr, 0);
}

/// Binds this process to one processor, with a child there that computes for so long.
static pid_t compete_for_seconds(unsigned seconds) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds);
    for (volatile bool end = false; !end;) {}
  }
  return child;
}

TEST_CASE("waits for the processor" * doctest::skip()) {
  const pid_t child = compete_for_seconds(2);
  const sched_param none{};
  REQUIRE(::sched_setscheduler(0, SCHED_IDLE, &none) == 0);
  while (::waitpid(child, nullptr, WNOHANG) == 0) {}
}

TEST_CASE("yields in threads that end" * doctest::skip()) {
  const pid_t child = compete_for_seconds(3);
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    std::thread([] {
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
    }).join();
  }
}

// Computes for longer than one limit of 1 s with the watchdog's signal held back, so that its look
// comes just before the second limit ends, and then waits for less than a limit.
TEST_CASE("is looked at late" * doctest::skip()) {
  sigset_t watchdog;
  sigemptyset(&watchdog);
  sigaddset(&watchdog, SIGRTMAX);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &watchdog, nullptr) == 0);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1950)) {}
  REQUIRE(::pthread_sigmask(SIG_UNBLOCK, &watchdog, nullptr) == 0);
  REQUIRE(::poll(nullptr, 0, 250) == 0);
}

TEST_CASE("is last and dies" * doctest::skip()) { std::_Exit(0); }
