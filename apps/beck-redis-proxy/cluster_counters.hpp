// SPDX-License-Identifier: BSL-1.0
//
// The counters of a proxy in front of a cluster.
#pragma once

#include <cstdint>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// Changed and read by the thread of the context.
struct cluster_counters {
  std::uint64_t commands = 0;   ///< that were sent to nodes
  std::uint64_t answered = 0;   ///< commands that the proxy has answered itself
  std::uint64_t refused = 0;    ///< commands that the proxy has refused
  std::uint64_t not_sent = 0;   ///< commands that an error of the proxy has answered
  std::uint64_t lost = 0;       ///< clients that were ended because a command may have run
  std::uint64_t nodes = 0;      ///< that have a connection now, in each version of the protocol
  std::uint64_t maps = 0;       ///< of the slots, that were accepted
  std::uint64_t moved = 0;      ///< commands that have followed MOVED
  std::uint64_t asked = 0;      ///< commands that have followed ASK
  std::uint64_t postponed = 0;  ///< commands that a node has refused for now
  std::uint64_t resent = 0;     ///< commands that were lost with a connection
  std::uint64_t divided = 0;    ///< commands whose keys had several slots
};

/// Returns the counters with their names.
metric_section read(const cluster_counters& of);

}  // namespace beck_redis_proxy
