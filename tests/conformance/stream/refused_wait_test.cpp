// SPDX-License-Identifier: BSL-1.0
// The wait of a loop, refused (S18): a newer call has an older form, and what has none ends the
// program with a message instead of waking the loop for ever. Each case in a child process, whose
// filter harms no other.
#include <beck/io/steady_timer.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/refused_call.hpp"

using namespace std::chrono_literals;
using beck::test::note;
using beck::test::outcome;
using beck::test::refuse_call;

namespace {

/// More than a timer and a message take, far less than a loop that never sleeps takes in 50 ms.
constexpr std::uint64_t turns_max = 200;

/// So that a loop that spins ends, without a message.
void bound_time() {
  const rlimit seconds{2, 2};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::alarm(10);
}

/// What a timer and a socket gave in this process: "works", or what did not.
std::string try_wait(beck::io_context& ctx) {
  beck::test::local_connection c(ctx);
  char got[2] = {};
  outcome received;
  outcome waited;
  beck::steady_timer timer(ctx, 50ms);
  c.a.async_read_some(beck::buffer(got), note(received));
  timer.async_wait([&](const beck::error_code& ec) {
    note{waited}(ec);
    c.b.write_some(beck::buffer("ok", 2));
  });
  ctx.run();
  if (!received.ok() || !waited.ok()) return "wrong result";
  const std::uint64_t turns = ctx.stats().iterations;
  return turns <= turns_max ? "works" : std::to_string(turns) + " turns";
}

/// As said_by_child(), with what the child prints to its standard error, whatever becomes of it.
template <class Code>
std::string heard_of_child(Code code) {
  return beck::test::run_child([&code](int fd) {
           ::dup2(fd, STDERR_FILENO);
           bound_time();
           const std::string text = code();
           static_cast<void>(!::write(fd, text.data(), text.size()));
         })
      .text;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// Closes every eventfd of this process.
void close_eventfds() {
  for (int fd = 3; fd < 1000; ++fd) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    char target[64] = {};
    if (::readlink(link.c_str(), target, sizeof target - 1) <= 0) continue;
    if (contains(target, "[eventfd]")) ::close(fd);
  }
}

}  // namespace

CONFORMANCE_ON(beck::test::epoll,
               "S18: where a filter refuses epoll_pwait2 the older call waits as well") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  for (const int reason : {EPERM, ENOSYS}) {
    for (const int threads : {1, 2}) {
      const std::string said = heard_of_child([=] {
        beck::io_context ctx(context_options({.threads = threads}));
        if (!refuse_call(__NR_epoll_pwait2, reason)) return std::string("no filter");
        return try_wait(ctx);
      });
      INFO(threads << " threads");
      CHECK(said == "works");
    }
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "S18: a wait that is refused for good ends the program with a message") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  const bool ring = where == beck::backend::io_uring;
  const long call = ring ? __NR_io_uring_enter : __NR_epoll_pwait2;
  const char* const name = ring ? "io_uring_enter: " : "epoll_pwait2: ";
  for (const int threads : {1, 2}) {
    if (ring && threads == 2) continue;
    const std::string said = heard_of_child([=] {
      beck::io_context ctx(context_options({.threads = threads}));
      if (!refuse_call(call, EINVAL)) return std::string("no filter");
      return try_wait(ctx);
    });
    INFO(said);
    CHECK(contains(said, name));
    CHECK(contains(said, "Invalid argument"));
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "S18: a program that closes all descriptors below its context ends with a message") {
  const bool ring = where == beck::backend::io_uring;
  for (const int threads : {1, 2}) {
    if (ring && threads == 2) continue;
    const std::string said = heard_of_child([=] {
      beck::io_context ctx(context_options({.threads = threads}));
      ::close_range(3, ~0U, 0);
      beck::steady_timer timer(ctx, 50ms);
      outcome waited;
      timer.async_wait(note(waited));
      ctx.run();
      return std::string("ran to its end");
    });
    INFO(said);
    CHECK(contains(said, ring ? "io_uring_enter: " : "epoll_"));
    CHECK(contains(said, "Bad file descriptor"));
  }
}

CONFORMANCE_ON(beck::test::uring,
               "S18: a program that closes the eventfd below its context ends with a message") {
  const std::string said = heard_of_child([=] {
    beck::io_context ctx(context_options());
    close_eventfds();
    beck::steady_timer timer(ctx, 50ms);
    outcome waited;
    timer.async_wait(note(waited));
    ctx.run();
    return "ran to its end in " + std::to_string(ctx.stats().iterations) + " turns";
  });
  INFO(said);
  CHECK(contains(said, "eventfd of an io_context: Bad file descriptor"));
}
