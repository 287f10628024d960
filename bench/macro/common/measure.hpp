// SPDX-License-Identifier: BSL-1.0
//
// Clocks, CPU time and the end of a run. The benchmarks compare CPU time: on a shared machine it is
// far steadier than wall time, and it determines the cost of a server.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace bench {

// The time used up to now, or between two moments. CPU time covers all threads of the process,
// including the kernel workers of its rings. Source: clock_gettime(2), getrusage(2).
struct usage {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;   // exact, from the scheduler's clock of the process
  std::int64_t user_ns = 0;  // the split is the kernel's estimate, in microseconds
  std::int64_t system_ns = 0;

  static usage now();
  [[nodiscard]] usage since(const usage& earlier) const;
};

std::int64_t wall_now_ns();
std::int64_t thread_cpu_now_ns();

// Keeps the calling thread, and the threads and processes that it starts later, on one CPU. A
// negative number changes nothing.
void pin_to_cpu(int cpu);

// Ends the program with a message on stderr and status 1: a peer that did not do its work must not
// report a result.
[[noreturn]] void fail(const char* what);
[[noreturn]] void fail_errno(const char* what);
inline void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

extern volatile std::sig_atomic_t alarm_rang;

// Decides when a run is over: after a number of operations, or when a timer of the process expires.
// The test costs the same for all peers: one load and one comparison.
class limit {
 public:
  explicit limit(const settings& s) : messages_max_(s.messages_max), duration_ms_(s.duration_ms) {}

  void start();
  void never() { messages_max_ = UINT64_MAX; }
  [[nodiscard]] bool reached(std::uint64_t done) const {
    return done >= messages_max_ || alarm_rang != 0;
  }

 private:
  std::uint64_t messages_max_;
  int duration_ms_;
};

// The one line of JSON by which a peer reports a run.
struct report {
  const char* bench;
  const settings& options;
  std::uint64_t messages;
  usage used;
  struct extra {
    const char* name;
    double value;
  };
  std::vector<extra> extras;

  void print() const;
};

// Runs a program's body and turns an escaping exception into fail().
int guarded(int (*body)(const settings&), int argc, char** argv);

}  // namespace bench
