// SPDX-License-Identifier: BSL-1.0
// Three sentinels, two servers and a client in one context, for cases on every backend.
#pragma once

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "redis/ending.hpp"
#include "redis/run_limited.hpp"
#include "redis/sentinel_server.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace beck::redis::test {

/// The primary is the server 0, and 1 is its replica; all sentinels know that.
struct sentinel_site {
  static constexpr duration limit{15'000'000'000};  ///< of run_until()

  explicit sentinel_site(const client_options& how = client_options(),
                         const memory_server_options& served = memory_server_options(),
                         const std::string& login = std::string(),
                         const std::string& tail = std::string())
      : options(how) {
    const ip::tcp::endpoint any(ip::make_address("127.0.0.1"), 0);
    for (int i = 0; i < 2; ++i) {
      servers.push_back(std::make_unique<memory_server>(ctx, any, served));
      addresses.push_back(text_of(servers.back()->endpoint()));
    }
    replicate(1);
    for (int i = 0; i < 3; ++i) {
      sentinels.push_back(std::make_unique<sentinel_server>(ctx, any));
      sentinels.back()->know(addresses[0], 1);
    }
    url = "redis+sentinel://" + login + sentinels[0]->address() + "," + sentinels[1]->address() +
          "," + sentinels[2]->address() + "/" + std::string(primary_name) + tail;
    db.emplace(ctx, url, how);
  }
  ~sentinel_site() {
    db.reset();
    for (const auto& one : sentinels) one->kill();
    for (const auto& one : servers) one->close();
    ctx.restart();
    ctx.poll();
  }

  memory_server& server(int i) { return *servers[static_cast<std::size_t>(i)]; }
  sentinel_server& sentinel(int i) { return *sentinels[static_cast<std::size_t>(i)]; }
  /// Makes a server the replica of the other one.
  void replicate(int i) {
    const ip::tcp::endpoint of = server(1 - i).endpoint();
    server(i).become_replica("127.0.0.1", of.port());
  }
  /// Makes the server 1 the primary, for all sentinels, which announce it.
  void fail_over(long epoch = 2) {
    server(1).become_primary();
    for (const auto& one : sentinels) one->switch_to(addresses[1], epoch);
  }
  /// Runs handlers until `done()` returns true. Returns false if it does not within a time that is
  /// beyond all limits of the cases: a case then fails instead of hanging.
  template <class Done>
  bool run_until(Done done) {
    return test::run_until(ctx, limit, done);
  }
  /// Starts a task and runs until it has ended.
  void run(task<> work) { run_to_end(ctx, limit, std::move(work)); }
  /// Runs until every sentinel has a subscription, so that no announcement is missed.
  void settle() {
    REQUIRE(run_until([&] {
      for (const auto& one : sentinels)
        if (one->subscribed() == 0 || one->asked() < 2) return false;
      return true;
    }));
  }

  io_context ctx{::context_options()};
  client_options options;
  std::vector<std::unique_ptr<memory_server>> servers;
  std::vector<std::string> addresses;
  std::vector<std::unique_ptr<sentinel_server>> sentinels;
  std::string url;
  std::optional<client> db;
};

/// Returns the end of one INCR.
inline ending increment(sentinel_site& s, const char* key = "n") {
  ending e;
  begin(s.db->exec<long>("INCR", key), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  return e;
}

}  // namespace beck::redis::test
