// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics for each struct of counters.
#include "counters.hpp"

#include <iterator>

namespace beck_redis_proxy {
namespace {

constexpr metric_row<counters> client_rows[] = {
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
static_assert(sizeof(counters) == std::size(client_rows) * sizeof(std::uint64_t), "a row for each");

constexpr metric_row<shared_counters> shared_rows[] = {
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
static_assert(sizeof(shared_counters) == std::size(shared_rows) * sizeof(std::uint64_t),
              "a row for each");

constexpr metric_row<switch_counters> switch_rows[] = {
    {"primary_switches_total", "Times that the sentinels have named another primary.",
     &switch_counters::switches},
    {"left_connections_total", "Connections to a former primary that were ended.",
     &switch_counters::left},
};
static_assert(sizeof(switch_counters) == std::size(switch_rows) * sizeof(std::uint64_t),
              "a row for each");

constexpr metric_row<cluster_counters> cluster_rows[] = {
    {"cluster_commands_total", "Commands that were sent to nodes.", &cluster_counters::commands},
    {"cluster_answered_total", "Commands that the proxy has answered itself.",
     &cluster_counters::answered},
    {"cluster_refused_total", "Commands that are refused in front of a cluster.",
     &cluster_counters::refused},
    {"cluster_not_sent_total", "Commands that an error of the proxy has answered.",
     &cluster_counters::not_sent},
    {"cluster_lost_total", "Clients that were ended because a command may have run.",
     &cluster_counters::lost},
    {"cluster_nodes", "Nodes with a connection, in each version of the protocol.",
     &cluster_counters::nodes},
    {"cluster_maps_total", "Maps of the slots that were accepted.", &cluster_counters::maps},
    {"cluster_moved_total", "Commands that have followed MOVED.", &cluster_counters::moved},
    {"cluster_asked_total", "Commands that have followed ASK.", &cluster_counters::asked},
    {"cluster_postponed_total", "Commands that a node has refused for now, and were sent again.",
     &cluster_counters::postponed},
    {"cluster_resent_total", "Commands that were lost with a connection, and sent again.",
     &cluster_counters::resent},
    {"cluster_divided_total", "Commands whose keys had several slots.", &cluster_counters::divided},
};
static_assert(sizeof(cluster_counters) == std::size(cluster_rows) * sizeof(std::uint64_t),
              "a row for each");

}  // namespace

metric_section read(const counters& of) { return read_table("Clients", client_rows, of); }

metric_section read(const shared_counters& of) { return read_table("Shared", shared_rows, of); }

metric_section read(const switch_counters& of) { return read_table("Sentinels", switch_rows, of); }

metric_section read(const cluster_counters& of) { return read_table("Cluster", cluster_rows, of); }

}  // namespace beck_redis_proxy
