// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics.
#include "counters.hpp"

#include <iterator>

namespace beck_redis_proxy {
namespace {

constexpr metric_row<counters> rows[] = {
    {"clients", "Clients that are connected.", &counters::clients},
    {"accepted_total", "Connections accepted.", &counters::accepted},
    {"turned_away_total", "Clients above --max-clients.", &counters::turned_away},
    {"unreachable_total", "Clients for which there was no server.", &counters::unreachable},
    {"idle_total", "Clients that --idle has ended.", &counters::idle},
    {"broken_total", "Clients whose connection a reset has ended, on either side.",
     &counters::broken},
    {"to_server_bytes_total", "Bytes relayed to the server.", &counters::to_server},
    {"to_clients_bytes_total", "Bytes relayed to clients.", &counters::to_clients},
};
static_assert(sizeof(counters) == std::size(rows) * sizeof(std::uint64_t), "a row for each");

}  // namespace

metric_section read(const counters& of) { return read_table("Clients", rows, of); }

}  // namespace beck_redis_proxy
