// SPDX-License-Identifier: BSL-1.0
//
// The nodes of a cluster, over connections that all clients share: one set of them for each version
// of the protocol, as many replies have another form in each.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/redis/cluster.hpp>
#include <cstdint>
#include <optional>

#include "cluster_batch.hpp"
#include "cluster_scripts.hpp"
#include "counters.hpp"
#include "server_log.hpp"
#include "settings.hpp"

namespace beck_redis_proxy {

/// The connections to a cluster. Thread: that of the context.
class cluster_pool {
 public:
  /// Refers to `log`, which must outlive it. Throws wrong_usage for a URL that the library refuses.
  cluster_pool(beck::io_context& context, const settings& asked, server_log& log);
  cluster_pool(const cluster_pool&) = delete;
  cluster_pool& operator=(const cluster_pool&) = delete;

  /// Returns the cluster whose replies have the form of this version.
  beck::redis::cluster& speaking(beck::redis::protocol version) noexcept {
    return version == beck::redis::protocol::resp3 ? *resp3_ : *resp2_;
  }
  /// Returns the number of a new client.
  std::uint64_t next_number() noexcept { return ++clients_; }
  /// Returns the scripts that clients have loaded.
  cluster_scripts& scripts() noexcept { return scripts_; }
  /// Logs and counts how a batch has ended.
  void note(const batch_end& end);
  /// Ends the connections.
  void close() noexcept;

  /// Returns the counters that clients change.
  cluster_counters& counts() noexcept { return counts_; }
  /// Returns all counters as they are now.
  cluster_counters seen() const noexcept;

 private:
  void make(std::optional<beck::redis::cluster>& one, beck::io_context& context,
            const settings& asked, beck::redis::protocol version);

  server_log& log_;
  cluster_counters counts_;
  cluster_scripts scripts_;
  std::uint64_t clients_ = 0;
  std::optional<beck::redis::cluster> resp2_;
  std::optional<beck::redis::cluster> resp3_;
};

}  // namespace beck_redis_proxy
