// SPDX-License-Identifier: BSL-1.0
// Time namespaces (time_namespaces(7)): the clock of a container that was moved from another
// machine is shifted, and the kernel does not shift back what a ring is told about points in time.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"

using namespace std::chrono_literals;
using beck::test::note;
using beck::test::outcome;
using beck::test::said_by_child;

namespace {

constexpr int new_time_namespace = 0x80;  // CLONE_NEWTIME, which headers may lack
constexpr const char* not_permitted = "not permitted";

/// More than a few timers take, far less than a loop that never sleeps takes meanwhile.
constexpr std::uint64_t turns_max = 200;

/// The clocks of children that are made from now on are shifted. False: this process may not.
bool shift_clocks(long long seconds) {
  if (::unshare(new_time_namespace) != 0) return false;
  std::FILE* const offsets = std::fopen("/proc/self/timens_offsets", "we");
  if (offsets == nullptr) return false;
  std::fprintf(offsets, "monotonic %lld 0\nboottime %lld 0\n", seconds, seconds);
  return std::fclose(offsets) == 0;
}

beck::task<> read_in_vain(beck::local::stream_protocol::socket& from, bool& ended) {
  char got[2];
  const auto room = beck::buffer(got);
  auto read = from.async_read_some(room);
  const auto result = co_await beck::timeout(std::move(read), 20ms);
  ended = result.error() == beck::error::timeout;
}

/// What timers of all kinds did, and how often the loop went round meanwhile.
std::string try_timers(const beck::io_context::options& how) {
  beck::io_context ctx(how);
  beck::test::local_connection c(ctx);
  outcome waited;
  outcome dated;
  bool timed_out = false;
  beck::steady_timer timer(ctx, 20ms);
  beck::system_timer date(ctx, 10ms);
  timer.async_wait(note(waited));
  date.async_wait(note(dated));
  co_spawn(ctx, read_in_vain(c.a, timed_out), beck::detached);
  ctx.run_for(5s);
  if (!waited.ok() || !dated.ok() || !timed_out) return "a timer did not end";
  const std::uint64_t turns = ctx.stats().iterations;
  if (turns > turns_max) return std::to_string(turns) + " turns";
  return std::string("works|") + ctx.backend_report();
}

/// The same, said by a process whose clock is shifted.
std::string try_shifted(long long seconds, const beck::io_context::options& how) {
  return said_by_child([&] {
    if (!shift_clocks(seconds)) return std::string(not_permitted);
    return said_by_child([&] {
      const rlimit cpu{3, 3};
      ::setrlimit(RLIMIT_CPU, &cpu);
      ::alarm(10);
      return try_timers(how);
    });
  });
}

/// The farthest back that every machine can be set: half of the time it has been up for.
long long back() {
  timespec up{};
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  return -(up.tv_sec / 2);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "U21: timers end in time in a time namespace") {
  for (const long long seconds : {500'000LL, back()}) {
    for (const int threads : {1, 2}) {
      if (threads == 2 && where == beck::backend::io_uring) continue;
      const std::string said = try_shifted(seconds, context_options({.threads = threads}));
      if (said == not_permitted) SKIP_CASE("this process may not make time namespaces");
      INFO(seconds << " seconds, " << threads << " threads: " << said);
      CHECK(said.starts_with("works|"));
      if (where != beck::backend::io_uring) continue;
      CHECK(said.find("relative deadlines") != std::string::npos);
      CHECK(said.find("time namespace") != std::string::npos);
    }
  }
}
