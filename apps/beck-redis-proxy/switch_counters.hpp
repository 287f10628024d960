// SPDX-License-Identifier: BSL-1.0
//
// The counters of a proxy whose server sentinels name.
#pragma once

#include <cstdint>

#include "metric_row.hpp"

namespace beck_redis_proxy {

/// Changed and read by the thread of the context.
struct switch_counters {
  std::uint64_t switches = 0;  ///< of the sentinels to another primary
  std::uint64_t left = 0;      ///< connections to a former primary that were ended
};

/// Returns the counters with their names.
metric_section read(const switch_counters& of);

}  // namespace beck_redis_proxy
