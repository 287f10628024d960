// SPDX-License-Identifier: BSL-1.0
//
// Runs a command and prints the time and memory that it used, as one line of JSON. The peak of
// memory that wait4(2) reports includes that of the process that forked: this program is tiny,
// Python is not.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace {

long long now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

long long ns_of(const timeval& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: stopwatch COMMAND [ARGUMENT...]\n");
    return 2;
  }
  const long long begin = now_ns();
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    ::_exit(127);
  }
  int status = 0;
  rusage used = {};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child) {
    std::perror("stopwatch");
    return 1;
  }
  const long long wall = now_ns() - begin;
  std::printf(
      "{\"wall_ns\": %lld, \"user_ns\": %lld, \"system_ns\": %lld, \"context_switches\": %ld, "
      "\"page_faults\": %ld, \"peak_kib\": %ld}\n",
      wall, ns_of(used.ru_utime), ns_of(used.ru_stime), used.ru_nvcsw + used.ru_nivcsw,
      used.ru_minflt + used.ru_majflt, used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
