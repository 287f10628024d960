// SPDX-License-Identifier: BSL-1.0
//
// The counters of the proxy. Changed and read by the thread of the context.
#pragma once

#include <cstdint>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// The counters of every proxy.
struct counters {
  std::uint64_t clients = 0;      ///< that are connected
  std::uint64_t accepted = 0;     ///< connections, the refused ones included
  std::uint64_t turned_away = 0;  ///< above --max-clients
  std::uint64_t unreachable = 0;  ///< clients for which there was no server
  std::uint64_t idle = 0;         ///< clients that --idle has ended
  std::uint64_t broken = 0;       ///< connections that a reset has ended, on either side
  std::uint64_t to_server = 0;    ///< bytes
  std::uint64_t to_clients = 0;   ///< bytes
};

/// The counters of --shared.
struct shared_counters {
  std::uint64_t connections = 0;    ///< to the server that are shared now
  std::uint64_t waiting = 0;        ///< commands without a reply now
  std::uint64_t commands = 0;       ///< over shared connections
  std::uint64_t not_sent = 0;       ///< commands that an error of the proxy has answered
  std::uint64_t lost = 0;           ///< clients that were ended with a shared connection
  std::uint64_t overflows = 0;      ///< clients that were ended because too many bytes waited
  std::uint64_t moved_state = 0;    ///< clients, see move_reason
  std::uint64_t moved_unknown = 0;  ///< as above
  std::uint64_t moved_bytes = 0;    ///< as above
};

/// The counters of a proxy whose server sentinels name.
struct switch_counters {
  std::uint64_t switches = 0;  ///< of the sentinels to another primary
  std::uint64_t left = 0;      ///< connections to a former primary that were ended
};

/// The counters of a proxy in front of a cluster.
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
metric_section read(const counters& of);
metric_section read(const shared_counters& of);
metric_section read(const switch_counters& of);
metric_section read(const cluster_counters& of);

}  // namespace beck_redis_proxy
