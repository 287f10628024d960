// SPDX-License-Identifier: BSL-1.0
// The timer of watchdog.hpp, and the check that it makes.
#include "support/watchdog.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitizers.hpp"

namespace beck::test {
using namespace detail;
namespace {

constexpr int limit_default_s = 20;
constexpr int limit_sanitizer_s = 100;
constexpr int busy_limits_default = 3;
constexpr long idle_fraction = 20;  // a case that uses less than limit/20 is idle, so it hangs

// One for each process, which runs one case at a time.
struct {
  long limit_ms = 0;
  timer_t timer{};
  const char* volatile name = nullptr;
  long cpu_at_start = 0;
  long cpu_at_look = 0;
} state;

long milliseconds(const timeval& time) noexcept { return time.tv_sec * 1000 + time.tv_usec / 1000; }

long cpu_ms() noexcept {
  long sum = 0;
  for (const int of : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    if (::getrusage(of, &used) == 0)
      sum += milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
  }
  return sum;
}

/// Checks the running case. Calls only functions that a signal handler may call.
void look(int) {
  const int kept = errno;
  const long now = cpu_ms();
  const bool waits = now - state.cpu_at_look < state.limit_ms / idle_fraction;
  const int busy = busy_limits_max != nullptr ? busy_limits_max() : busy_limits_default;
  const bool spins = now - state.cpu_at_start > busy * state.limit_ms;
  state.cpu_at_look = now;
  if (state.name != nullptr && (waits || spins)) {
    char text[600];
    const int length = std::snprintf(
        text, sizeof text, "\nthe case \"%.400s\" hangs: %s (BECK_TEST_LIMIT: %ld s)\n", state.name,
        waits ? "it waits and nothing happens" : "it computes and does not end",
        state.limit_ms / 1000);
    if (::write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) ::_exit(1);
    ::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
  errno = kept;
}

}  // namespace

void start_watchdog() {
  const char* const told = std::getenv("BECK_TEST_LIMIT");
  const int fitting = address_sanitizer || thread_sanitizer ? limit_sanitizer_s : limit_default_s;
  state.limit_ms = 1000L * (told != nullptr ? std::atoi(told) : fitting);
  if (state.limit_ms <= 0) return;
  struct sigaction action{};
  action.sa_handler = &look;
  action.sa_flags = SA_RESTART;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  if (::sigaction(SIGRTMAX, &action, nullptr) != 0 ||
      ::timer_create(CLOCK_MONOTONIC, &event, &state.timer) != 0) {
    std::perror("the watchdog of the tests");
    std::exit(2);
  }
}

void watch_case(const char* name) noexcept {
  if (state.limit_ms <= 0) return;
  state.name = nullptr;
  state.cpu_at_start = state.cpu_at_look = cpu_ms();
  state.name = name;
  itimerspec when{};
  if (name != nullptr) {
    when.it_value.tv_sec = when.it_interval.tv_sec = state.limit_ms / 1000;
  }
  ::timer_settime(state.timer, 0, &when, nullptr);
}

}  // namespace beck::test
