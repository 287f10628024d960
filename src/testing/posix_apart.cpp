// SPDX-License-Identifier: BSL-1.0
// Runs an attempt in a child process (fork(2)). The child sends an attempt_header, values and a
// report through a pipe; its standard error goes to a file in memory.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/error.hpp>
#include <beck/base/unique_fd.hpp>

#include "testing/crash_scene.hpp"
#include "testing/shrinker.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {

constexpr std::size_t report_bytes_max = 4'096;
constexpr std::uint64_t us_per_second = 1'000'000;

std::uint64_t us_of(const timeval& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * us_per_second +
         static_cast<std::uint64_t>(time.tv_usec);
}

[[noreturn]] void refuse(const char* call) { throw_error(make_error(-errno), call); }

std::string read_all(int fd) {
  std::string all;
  char part[16'384];
  for (;;) {
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(part, static_cast<std::size_t>(n));
  }
}

/// Runs `body` in the child process, sends the result and ends the process.
[[noreturn]] void be_child(const std::function<attempt()>& body, std::uint64_t cpu_us_max,
                           int results, int errors) {
  ::dup2(errors, STDERR_FILENO);
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<std::time_t>(cpu_us_max / us_per_second);
  limit.it_value.tv_usec = static_cast<suseconds_t>(cpu_us_max % us_per_second);
  ::setitimer(ITIMER_PROF, &limit, nullptr);  // SIGPROF ends it
  crash_scene::report_to(results);
  const attempt done = body();
  attempt_header header;
  header.how = static_cast<std::uint64_t>(done.how);
  header.seed = done.seed;
  header.hash = done.hash;
  header.runs = done.runs;
  header.digest = done.digest;
  for (std::size_t i = 0; i < sim_tape::streams_max; ++i)
    header.draws[i] = done.draws.streams[i].size();
  write_all(results, &header, sizeof header);
  for (const auto& values : done.draws.streams) {
    write_all(results, values.data(), values.size() * sizeof(std::uint64_t));
  }
  write_all(results, done.report.data(), done.report.size());
  std::fflush(stdout);
  ::_exit(0);
}

/// Reads the result that the child has sent. Returns false if the header is incomplete.
bool parse(const std::string& sent, attempt& result) {
  attempt_header header;
  if (sent.size() < sizeof header) return false;
  std::memcpy(&header, sent.data(), sizeof header);
  result.how = static_cast<attempt::ending>(header.how);
  result.seed = header.seed;
  result.hash = header.hash;
  result.runs = header.runs;
  result.digest = header.digest;
  std::size_t at = sizeof header;
  for (std::size_t i = 0; i < sim_tape::streams_max; ++i) {
    const std::size_t bytes = header.draws[i] * sizeof(std::uint64_t);
    if (bytes > sent.size() - at) return true;  // killed while it wrote
    result.draws.streams[i].resize(header.draws[i]);
    if (bytes != 0) std::memcpy(result.draws.streams[i].data(), sent.data() + at, bytes);
    at += bytes;
  }
  result.draws.seed = header.seed;
  result.report = sent.substr(at);
  return true;
}

/// Returns the text that a child has printed, without a sanitizer's first line of "=".
std::string errors_of(int fd) {
  ::lseek(fd, 0, SEEK_SET);
  std::string text = read_all(fd);
  if (text.size() > report_bytes_max) text.resize(report_bytes_max);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.find_first_not_of('=') == text.find('\n') ? text.substr(text.find('\n') + 1) : text;
}

}  // namespace

attempt run_apart(const std::function<attempt()>& body, std::uint64_t cpu_us_max) {
  const unique_fd errors(::memfd_create("stderr", MFD_CLOEXEC));
  int ends[2];
  if (errors.get() < 0 || ::pipe(ends) != 0) refuse("running a program in a child process");
  const unique_fd results(ends[0]);
  unique_fd child_end(ends[1]);
  std::fflush(nullptr);  // the child would write buffered text a second time
  const pid_t child = ::fork();
  if (child < 0) refuse("fork");
  if (child == 0) be_child(body, cpu_us_max, child_end.get(), errors.get());
  child_end.reset();
  attempt result;
  const bool told = parse(read_all(results.get()), result);
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {}
  result.cpu_us = us_of(used.ru_utime) + us_of(used.ru_stime);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && told) return result;
  const bool slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
  result.how = slow ? attempt::ending::endless : attempt::ending::died;
  result.report = slow ? "it does not come to an end" : errors_of(errors.get());
  if (result.report.empty() && WIFSIGNALED(status)) result.report = ::strsignal(WTERMSIG(status));
  return result;
}

}  // namespace beck::testing::sim
