// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics, as in counters.cpp.
#include "switch_counters.hpp"

#include <iterator>

#include "metric_row.hpp"

namespace beck_redis_proxy {
namespace {

constexpr metric_row<switch_counters> rows[] = {
    {"primary_switches_total", "Times that the sentinels have named another primary.",
     &switch_counters::switches},
    {"left_connections_total", "Connections to a former primary that were ended.",
     &switch_counters::left},
};
static_assert(sizeof(switch_counters) == std::size(rows) * sizeof(std::uint64_t), "a row for each");

}  // namespace

std::string metrics_text(const switch_counters& of) { return text_of_metrics(rows, of); }

}  // namespace beck_redis_proxy
