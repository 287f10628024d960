// SPDX-License-Identifier: BSL-1.0
// The timer of watchdog.hpp, and the check that it makes.
#include "support/watchdog.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.hpp"

namespace beck::test {
using namespace detail;
namespace {

constexpr int limit_default_s = 20;
constexpr int limit_sanitizer_s = 100;
constexpr int busy_limits_default = 3;
constexpr long idle_fraction = 20;  // a case that uses less than limit/20 is idle, so it hangs
// ... and one that does not switch threads so often: threads that have ended, which only yielded to
// other processes, have used nothing and have left no queue.
constexpr long idle_switches_per_second = 25;

// One for each process, which runs one case at a time.
struct {
  long limit_ms = 0;
  timer_t timer{};
  const char* volatile name = nullptr;
  long cpu_at_start = 0;
  long cpu_at_look = 0;
  long queued_at_look = 0;
  long switches_at_look = 0;
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

/// Returns how often threads were switched, also those that have ended.
long switches() noexcept {
  rusage used{};
  return ::getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_nvcsw + used.ru_nivcsw : 0;
}

/// Returns for how long the thread was ready to run and had no processor, in milliseconds; 0 if
/// Linux does not say.
long queued_ms(const char* thread) noexcept {
  char text[300];
  std::snprintf(text, sizeof text, "/proc/self/task/%s/schedstat", thread);
  const int fd = ::open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t bytes = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* const second = std::strchr(text, ' ');
  return second == nullptr ? 0 : static_cast<long>(std::strtoull(second, nullptr, 10) / 1'000'000);
}

/// Returns the sum of queued_ms() of all threads. Reads the directory by the system call, because
/// opendir(3) allocates.
long queued_ms() noexcept {
  const int tasks = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return 0;
  long sum = 0;
  alignas(dirent64) char records[4096];
  long bytes = 0;
  while ((bytes = ::syscall(SYS_getdents64, tasks, records, sizeof records)) > 0) {
    for (long at = 0; at < bytes;) {
      const auto& one = *reinterpret_cast<const dirent64*>(records + at);
      at += one.d_reclen;
      if (one.d_name[0] != '.') sum += queued_ms(one.d_name);
    }
  }
  ::close(tasks);
  return sum;
}

/// Sets the timer to the limit. Each look sets it again: with a periodic timer a look that came
/// late, because the processor was busy, would be followed at once by one that sees no work done.
void look_after_limit() noexcept {
  itimerspec when{};
  when.it_value.tv_sec = state.limit_ms / 1000;
  ::timer_settime(state.timer, 0, &when, nullptr);
}

/// Checks the running case. Calls only functions that a signal handler may call.
void look(int) {
  const int kept = errno;
  const long now = cpu_ms();
  const long queued = queued_ms();
  const long wanted = now - state.cpu_at_look + std::max(queued - state.queued_at_look, 0L);
  const long switched = switches() - state.switches_at_look;
  const bool waits = wanted < state.limit_ms / idle_fraction &&
                     switched < idle_switches_per_second * state.limit_ms / 1000;
  const int busy = busy_limits_max != nullptr ? busy_limits_max() : busy_limits_default;
  const bool spins = now - state.cpu_at_start > busy * state.limit_ms;
  state.cpu_at_look = now;
  state.queued_at_look = queued;
  state.switches_at_look += switched;
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
  if (state.name != nullptr) look_after_limit();
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
  state.queued_at_look = queued_ms();
  state.switches_at_look = switches();
  state.name = name;
  if (name != nullptr) {
    look_after_limit();
  } else {
    const itimerspec never{};
    ::timer_settime(state.timer, 0, &never, nullptr);
  }
}

}  // namespace beck::test
