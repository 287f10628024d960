// SPDX-License-Identifier: BSL-1.0
// A cluster of six redis-servers on loopback: three primaries, and a replica of each.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/key_slot.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "redis/names.hpp"
#include "redis/real_server.hpp"
#include "support/temporary_folder.hpp"

namespace beck::redis::test {

struct real_cluster {
  static constexpr int primaries = 3;
  static constexpr int all = 6;

  /// Starts the servers and joins them. See is_ready. A node that is silent for `timeout_ms` has
  /// failed.
  explicit real_cluster(backend on = backend::epoll, int timeout_ms = 500)
      : ctx(io_context::options{.backend = on}), node_timeout(std::to_string(timeout_ms)) {
    for (int i = 0; i < all; ++i) {
      // Another process may take a port before the server does.
      for (int tries = 0; tries < 5 && !(nodes[index(i)] && nodes[index(i)]->is_connected());
           ++tries)
        start(i);
    }
    is_ready = join();
  }

  /// Sends a line of words to a node. Returns the answer, without its type and end if that is one
  /// line.
  std::string ask(int node, const std::string& line) {
    std::string got = nodes[index(node)]->ask(line + "\r\n", "\r\n");
    if (got.starts_with("$")) got.erase(0, got.find('\n') + 1);
    if (got.ends_with("\r\n")) got.resize(got.size() - 2);
    return got.starts_with("+") || got.starts_with(":") ? got.substr(1) : got;
  }
  /// Returns the URL of a node.
  std::string url(int node) const {
    return "redis://127.0.0.1:" + std::to_string(ports[index(node)]);
  }
  /// Runs handlers until `done()` returns true, which is asked every 10 ms. Returns false if it
  /// does not within 15 s.
  template <class Done>
  bool run_until(Done done) {
    ctx.restart();
    for (int i = 0; i < 1500; ++i) {
      if (done()) return true;
      run_for(duration(10'000'000));
    }
    return false;
  }
  /// Runs handlers for a time.
  void run_for(duration time) {
    steady_timer timer(ctx, time);
    bool is_over = false;
    timer.async_wait([&](const error_code&) { is_over = true; });
    ctx.restart();
    while (!is_over) ctx.run_one();
  }
  /// Returns whether all living nodes find the cluster complete.
  bool is_complete() {
    for (int i = 0; i < all; ++i) {
      if (!nodes[index(i)]) continue;
      if (ask(i, "CLUSTER INFO").find("cluster_state:ok") == std::string::npos) return false;
    }
    return true;
  }
  /// Returns whether a node is the primary of slots.
  bool is_primary(int node) { return ask(node, "ROLE").find("master") != std::string::npos; }
  /// Returns whether a replica has all that its primary has executed.
  bool has_caught_up(int replica, int primary) {
    const auto offset = [](const std::string& info, const char* name) {
      const std::size_t at = info.find(name);
      return at == info.npos ? std::string() : info.substr(at, info.find('\r', at) - at);
    };
    const std::string at_primary = ask(primary, "INFO replication");
    const std::string at_replica = ask(replica, "INFO replication");
    const std::string wanted = offset(at_primary, "master_repl_offset:");
    return at_replica.find("master_link_status:up") != at_replica.npos &&
           wanted == offset(at_replica, "master_repl_offset:");
  }
  /// Kills a node with SIGKILL.
  void kill(int node) { nodes[index(node)].reset(); }
  /// Starts a killed node again.
  void restart(int node) {
    nodes[index(node)] = std::make_unique<real_server>(std::vector<std::string>{
        "--port", std::to_string(ports[index(node)]), "--bind", "127.0.0.1", "--cluster-enabled",
        "yes", "--cluster-port", buses[index(node)], "--cluster-config-file",
        "nodes" + std::to_string(node), "--cluster-node-timeout", node_timeout, "--dir",
        folder.path(), "--repl-diskless-sync-delay", "0"});
  }
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  beck::test::temporary_folder folder{"/tmp"};
  io_context ctx;
  const std::string node_timeout;
  std::array<std::unique_ptr<real_server>, all> nodes;
  std::array<int, all> ports{};
  std::array<std::string, all> buses;
  bool is_ready = false;

 private:
  /// Returns how many replicas a node knows.
  int replicas_known(int node) {
    const std::string table = ask(node, "CLUSTER NODES");
    int count = 0;
    for (std::size_t at = 0; (at = table.find("slave", at)) != table.npos; ++at) ++count;
    return count;
  }
  void start(int node) {
    ports[index(node)] = free_port(ctx);
    buses[index(node)] = std::to_string(free_port(ctx));
    restart(node);
  }
  bool join() {
    for (int i = 0; i < all; ++i) {
      if (!nodes[index(i)]->is_connected()) return false;
      ask(i, "CLUSTER SET-CONFIG-EPOCH " + std::to_string(i + 1));
    }
    for (int i = 0; i < primaries; ++i) {
      const int first = (i * key_slots + primaries - 1) / primaries;
      const int last = ((i + 1) * key_slots + primaries - 1) / primaries - 1;
      ask(i, "CLUSTER ADDSLOTSRANGE " + std::to_string(first) + " " + std::to_string(last));
    }
    for (int i = 1; i < all; ++i)
      ask(0, "CLUSTER MEET 127.0.0.1 " + std::to_string(ports[index(i)]) + " " + buses[index(i)]);
    const bool have_met = run_until([&] {
      for (int i = 0; i < all; ++i)
        if (ask(i, "CLUSTER INFO").find("known_nodes:6") == std::string::npos) return false;
      return is_complete();
    });
    if (!have_met) return false;
    for (int i = primaries; i < all; ++i)
      ask(i, "CLUSTER REPLICATE " + ask(i - primaries, "CLUSTER MYID"));
    return run_until([&] {
      for (int i = 0; i < all; ++i) {
        if (i >= primaries && !has_caught_up(i, i - primaries)) return false;
        if (replicas_known(i) != all - primaries) return false;
      }
      return is_complete();
    });
  }
};

}  // namespace beck::redis::test
