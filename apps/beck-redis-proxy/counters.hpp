// SPDX-License-Identifier: BSL-1.0
//
// The counters of the proxy.
#pragma once

#include <cstdint>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// Changed and read by the thread of the context.
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

/// Returns the counters with their names.
metric_section read(const counters& of);

}  // namespace beck_redis_proxy
