// SPDX-License-Identifier: BSL-1.0
//
// Choosing a backend and a form of context, what happens to bad choices, and the counters that tell
// what a context has done.
#include <beck/io/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;

namespace {

// Sets BECK_BACKEND for the life of the object. No other thread is alive in these cases.
class environment {
 public:
  explicit environment(const char* value) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    setenv(name, value, 1);
  }
  ~environment() {
    if (before_.empty()) {
      unsetenv(name);
    } else {
      setenv(name, before_.c_str(), 1);
    }
  }

 private:
  static constexpr const char* name = "BECK_BACKEND";
  std::string before_;
};

std::string message_of(std::string_view backend_name) {
  try {
    beck::detail::parse_backend(backend_name);
  } catch (const std::system_error& error) {
    if (error.code() == beck::errc::invalid_argument) return error.what();
  }
  return "no error";
}

}  // namespace

CONFORMANCE("a context uses the backend that was asked for, whatever BECK_BACKEND says") {
  const environment other(where == beck::backend::epoll ? "io_uring" : "epoll");
  const beck::io_context ctx(context_options());
  CHECK(ctx.backend_in_use() == where);
  CHECK(std::string(ctx.backend_report()) != "");
}

CONFORMANCE("BECK_BACKEND decides where the program says automatic") {
  const environment wanted(beck::to_string(where));
  const beck::io_context ctx;
  CHECK(ctx.backend_in_use() == where);
  const beck::io_context hinted(1);
  CHECK(hinted.backend_in_use() == where);
}

CONFORMANCE("a backend's name is parsed as it is printed") {
  CHECK(beck::detail::parse_backend(beck::to_string(where)) == where);
  CHECK(beck::detail::parse_backend("automatic") == beck::backend::automatic);
}

CONFORMANCE("an unknown backend is an error that names the value and what is allowed") {
  for (const char* name : {"", "Epoll", "uring", "epoll ", "iocp", "epol"}) {
    const std::string message = message_of(name);
    CAPTURE(message);
    CHECK(message.find('"' + std::string(name) + '"') != std::string::npos);
    for (const char* allowed : {"automatic", "io_uring", "epoll", "sim"}) {
      CHECK(message.find(allowed) != std::string::npos);
    }
  }
}

CONFORMANCE(
    "an unknown name in BECK_BACKEND is an error of the constructor, unless it is not asked") {
  const environment wrong("kqueue");
  try {
    const beck::io_context ctx;
    FAIL("constructed");
  } catch (const std::system_error& error) {
    CHECK(error.code() == beck::errc::invalid_argument);
    CHECK(std::string(error.what()).find("kqueue") != std::string::npos);
  }
  const beck::io_context asked_for(context_options());
  CHECK(asked_for.backend_in_use() == where);
}

CONFORMANCE("a number of threads below 0 or past the bound is refused, and the message names it") {
  const environment wanted(beck::to_string(where));
  for (const int hint : {-1, beck::io_context::threads_max + 1}) {
    try {
      const beck::io_context ctx(hint);
      FAIL("constructed with ", hint);
    } catch (const std::invalid_argument& error) {
      CHECK(std::string(error.what()).find(std::to_string(hint)) != std::string::npos);
    }
  }
  for (const int hint : {0, 1}) CHECK(beck::io_context(hint).run() == 0);
}

CONFORMANCE("the counters tell handlers, hops and turns, and only grow") {
  beck::io_context ctx(context_options());
  const auto before = ctx.stats();
  CHECK(before.delivered == 0);
  CHECK(before.outstanding == 0);
  for (int i = 0; i < 10; ++i) beck::post(ctx, [] {});
  CHECK(ctx.run() == 10);
  const auto after = ctx.stats();
  CHECK(after.delivered == 10);
  CHECK(after.entries_run >= 10);
  CHECK(after.iterations >= 1);
  CHECK(after.mail == 10);  // they were posted before run, from outside of the loop
  CHECK(after.wakeups == 0);
  CHECK(after.attempts == 0);
}

CONFORMANCE("outstanding counts the operations in flight") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  beck::steady_timer timer(ctx, 1h);
  char space[2];
  pair.a.async_read_some(beck::buffer(space, 1), beck::detached);
  pair.a.async_read_some(beck::buffer(space + 1, 1), beck::detached);
  timer.async_wait(beck::detached);
  ctx.poll();
  CHECK(ctx.stats().outstanding == 3);
  timer.cancel();
  CHECK(ctx.stats().outstanding == 2);
  pair.a.cancel();
  CHECK(ctx.run() == 3);
  CHECK(ctx.stats().outstanding == 0);
}

CONFORMANCE("a context without sockets enters the kernel for nothing but waiting") {
  beck::io_context ctx(context_options());
  int left = 10000;
  struct step {
    beck::io_context& ctx;
    int& left;
    void operator()() const {
      if (--left > 0) beck::post(ctx, *this);
    }
  };
  beck::post(ctx, step{ctx, left});
  CHECK(ctx.run() == 10000);
  const auto stats = ctx.stats();
  CHECK(stats.entries_run >= 10000);
  CHECK(stats.kernel_entries * 64 <= stats.entries_run);  // at most once in a generation
}
