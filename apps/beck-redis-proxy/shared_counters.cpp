// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics, as in counters.cpp.
#include "shared_counters.hpp"

#include <iterator>

namespace beck_redis_proxy {
namespace {

constexpr metric_row<shared_counters> rows[] = {
    {"shared_connections", "Shared connections to the server.", &shared_counters::connections},
    {"shared_waiting", "Commands without a reply on shared connections.",
     &shared_counters::waiting},
    {"shared_commands_total", "Commands over shared connections.", &shared_counters::commands},
    {"not_sent_total", "Commands that an error of the proxy has answered.",
     &shared_counters::not_sent},
    {"lost_total", "Clients that the loss of a shared connection has ended.",
     &shared_counters::lost},
    {"overflow_total", "Clients that were ended because they did not receive.",
     &shared_counters::overflows},
    {"moved_state_total", "Clients that got a connection of their own for a command with state.",
     &shared_counters::moved_state},
    {"moved_unknown_total", "The same for an unknown command.", &shared_counters::moved_unknown},
    {"moved_bytes_total", "The same for a line, a malformed or a very large command.",
     &shared_counters::moved_bytes},
};
static_assert(sizeof(shared_counters) == std::size(rows) * sizeof(std::uint64_t), "a row for each");

}  // namespace

metric_section read(const shared_counters& of) { return read_table("Shared", rows, of); }

}  // namespace beck_redis_proxy
