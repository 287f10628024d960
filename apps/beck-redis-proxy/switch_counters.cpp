// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics, as in counters.cpp.
#include "switch_counters.hpp"

#include <iterator>

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

metric_section read(const switch_counters& of) { return read_table("Sentinels", rows, of); }

}  // namespace beck_redis_proxy
