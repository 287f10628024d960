// SPDX-License-Identifier: BSL-1.0
//
// The counters of a proxy whose server sentinels name, and their text for Prometheus.
#pragma once

#include <cstdint>
#include <string>

namespace beck_redis_proxy {

/// Changed and read by the thread of the context.
struct switch_counters {
  std::uint64_t switches = 0;  ///< of the sentinels to another primary
  std::uint64_t left = 0;      ///< connections to a former primary that were ended
};

/// Returns the counters in Prometheus' text format 0.0.4.
std::string metrics_text(const switch_counters& of);

}  // namespace beck_redis_proxy
