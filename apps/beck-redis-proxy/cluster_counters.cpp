// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics, as in counters.cpp.
#include "cluster_counters.hpp"

#include <iterator>

namespace beck_redis_proxy {
namespace {

constexpr metric_row<cluster_counters> rows[] = {
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
static_assert(sizeof(cluster_counters) == std::size(rows) * sizeof(std::uint64_t),
              "a row for each");

}  // namespace

metric_section read(const cluster_counters& of) { return read_table("Cluster", rows, of); }

}  // namespace beck_redis_proxy
