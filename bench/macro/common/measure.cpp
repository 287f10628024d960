// SPDX-License-Identifier: BSL-1.0
//
// Clocks and reports. All code of this file runs outside of the measured loops.
#include "measure.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>

namespace bench {

volatile std::sig_atomic_t alarm_rang = 0;

namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t nanoseconds(const timeval& t) {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1'000;
}

}  // namespace

std::int64_t wall_now_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::int64_t thread_cpu_now_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

usage usage::now() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return {wall_now_ns(), clock_ns(CLOCK_PROCESS_CPUTIME_ID), nanoseconds(r.ru_utime),
          nanoseconds(r.ru_stime)};
}

usage usage::since(const usage& earlier) const {
  return {wall_ns - earlier.wall_ns, cpu_ns - earlier.cpu_ns, user_ns - earlier.user_ns,
          system_ns - earlier.system_ns};
}

void pin_to_cpu(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail_errno("sched_setaffinity");
}

void fail(const char* what) {
  std::fprintf(stderr, "failed: %s\n", what);
  std::_Exit(1);
}

void fail_errno(const char* what) {
  std::fprintf(stderr, "failed: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

void limit::start() {
  if (duration_ms_ == 0) return;
  // Without SA_RESTART, so that a peer asleep in the kernel notices too.
  struct sigaction action{};
  action.sa_handler = [](int) { alarm_rang = 1; };
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = duration_ms_ / 1'000;
  timer.it_value.tv_usec = duration_ms_ % 1'000 * 1'000;
  if (setitimer(ITIMER_REAL, &timer, nullptr) != 0) fail_errno("setitimer");
}

void report::print() const {
  std::printf("{\"bench\":\"%s\",\"case\":\"%s\",\"messages\":%" PRIu64 ",\"wall_ns\":%" PRId64
              ",\"cpu_ns\":%" PRId64 ",\"user_ns\":%" PRId64 ",\"system_ns\":%" PRId64
              ",\"checked\":true",
              bench, options.case_name.c_str(), messages, used.wall_ns, used.cpu_ns, used.user_ns,
              used.system_ns);
  for (const extra& e : extras) std::printf(",\"%s\":%.6g", e.name, e.value);
  std::printf("}\n");
  std::fflush(stdout);
}

int guarded(int (*body)(const settings&), int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const settings s = settings::from_arguments(argc, argv);
  try {
    return body(s);
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

}  // namespace bench
