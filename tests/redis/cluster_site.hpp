// SPDX-License-Identifier: BSL-1.0
// Six nodes and a cluster client in one context, for cases on every backend.
#pragma once

#include <beck/redis/cluster.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "redis/cluster_nodes.hpp"
#include "redis/run_limited.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace beck::redis::test {

/// Three primaries, 0 to 2, and a replica of each, 3 to 5; a client whose seed is the first one.
struct cluster_site {
  static constexpr duration limit{15'000'000'000};  ///< of run_until()

  explicit cluster_site(const cluster_options& how = cluster_options()) {
    const ip::tcp::endpoint any(ip::make_address("127.0.0.1"), 0);
    for (int i = 0; i < 6; ++i) nodes.push_back(std::make_unique<node_server>(ctx, truth, any));
    for (int i = 0; i < 3; ++i) truth.replica_of[3 + i] = i;
    many.emplace(ctx, "redis://" + truth.addresses[0], how);
  }
  ~cluster_site() {
    many.reset();
    for (const auto& one : nodes) one->kill();
    ctx.restart();
    ctx.poll();
  }

  /// Returns a key of a primary; keys of different numbers have different slots.
  std::string key(int node, int number = 0) const {
    for (int i = 0;; ++i) {
      const std::string one = "k" + std::to_string(i);
      if (truth.owner_of(one) == node && number-- == 0) return one;
    }
  }
  /// Returns how many commands a node has executed.
  int executed(int node) const {
    const std::string front = std::to_string(node) + ":";
    return static_cast<int>(std::count_if(
        truth.log.begin(), truth.log.end(),
        [&](const std::string& one) { return one.substr(0, front.size()) == front; }));
  }
  /// Runs handlers until `done()` returns true. Returns false if it does not within a time that is
  /// beyond all limits of the cases: a case then fails instead of hanging.
  template <class Done>
  bool run_until(Done done) {
    return test::run_until(ctx, limit, done);
  }
  /// Starts a task and runs until it has ended.
  void run(task<> work) { run_to_end(ctx, limit, std::move(work)); }

  io_context ctx{::context_options()};
  cluster_truth truth;
  std::vector<std::unique_ptr<node_server>> nodes;
  std::optional<redis::cluster> many;
};

}  // namespace beck::redis::test
