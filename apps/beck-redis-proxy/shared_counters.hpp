// SPDX-License-Identifier: BSL-1.0
//
// The counters of --shared.
#pragma once

#include <cstdint>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// Changed and read by the thread of the context.
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

/// Returns the counters with their names.
metric_section read(const shared_counters& of);

}  // namespace beck_redis_proxy
