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
#include "redis/run_limited.hpp"

namespace beck::redis::test {

struct real_site {
  static constexpr duration limit{10'000'000'000};  ///< of run_until()

  real_site() : db(ctx, "unix://" + real.path()) {}

  /// Runs a task to its end.
  void run(task<> work) { run_to_end(ctx, limit, std::move(work)); }
  /// Runs handlers until `done()` returns true. Returns false if it does not within 10 s.
  template <class Done>
  bool run_until(Done done) {
    return test::run_until(ctx, limit, done);
  }
  /// Sends a line of words over a connection of its own.
  std::string ask(const std::string& line) { return real.ask(line + "\r\n", "\r\n"); }

  real_server real;
  io_context ctx{io_context::options{.backend = backend::epoll}};
  client db;
};

}  // namespace beck::redis::test
