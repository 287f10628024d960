// SPDX-License-Identifier: BSL-1.0
// A memory_server and a client of it in one context, for cases on every backend.
#pragma once

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <exception>
#include <optional>
#include <string>

#include "redis/names.hpp"
#include "redis/run_limited.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace beck::redis::test {

/// A server, a client, and the context of both.
struct client_site {
  static constexpr duration limit{5'000'000'000};  ///< of run_until()

  explicit client_site(const client_options& how = client_options(),
                       const memory_server_options& served = memory_server_options(),
                       const std::string& login = std::string())
      : server(ctx, ip::tcp::endpoint(ip::make_address("127.0.0.1"), 0), served) {
    db.emplace(ctx, "redis://" + login + address(), how);
  }

  /// Returns "127.0.0.1:port".
  std::string address() const { return "127.0.0.1:" + std::to_string(server.port()); }
  /// Starts a task without waiting for it.
  void start(task<> work) {
    ++started;
    co_spawn(ctx, std::move(work), [this](std::exception_ptr failed) {
      ++ended;
      CHECK(!failed);
    });
  }
  /// Runs handlers until `done()` returns true. Returns false if it does not within a time that is
  /// beyond all limits of the cases: a case then fails instead of hanging.
  template <class Done>
  bool run_until(Done done) {
    return test::run_until(ctx, limit, done);
  }
  /// Starts a task and runs until all tasks have ended.
  void run(task<> work) {
    start(std::move(work));
    REQUIRE(run_until([this] { return ended == started; }));
  }
  /// Lets `time` pass.
  void wait(duration time) {
    steady_timer timer(ctx, time);
    bool over = false;
    timer.async_wait([&](error_code) { over = true; });
    run_until([&] { return over; });
  }

  io_context ctx{::context_options()};
  memory_server server;
  std::optional<client> db;
  int started = 0;
  int ended = 0;
};

}  // namespace beck::redis::test
