// SPDX-License-Identifier: BSL-1.0
// A redis-server, a client of it, and a connection beside it.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <string>
#include <utility>

#include "redis/names.hpp"
#include "redis/real_server.hpp"

namespace beck::redis::test {

struct real_site {
  real_site() : db(ctx, "unix://" + real.path()) {}

  /// Runs a task to its end.
  void run(task<> work) {
    bool done = false;
    co_spawn(ctx, std::move(work), [&](std::exception_ptr failed) {
      CHECK(!failed);
      done = true;
    });
    REQUIRE(run_until([&] { return done; }));
  }
  /// Runs handlers until `done()` returns true. Returns false if it does not within 10 s.
  template <class Done>
  bool run_until(Done done) {
    steady_timer limit(ctx, duration(10'000'000'000));
    bool is_late = false;
    limit.async_wait([&](const error_code& ec) { is_late = !ec; });
    ctx.restart();
    while (!done() && !is_late) ctx.run_one();
    limit.cancel();
    ctx.poll();
    return !is_late;
  }
  /// Sends a line of words over a connection of its own.
  std::string ask(const std::string& line) { return real.ask(line + "\r\n", "\r\n"); }

  real_server real;
  io_context ctx{io_context::options().backend(backend::epoll)};
  client db;
};

}  // namespace beck::redis::test
