// SPDX-License-Identifier: BSL-1.0
// The map of a cluster: the nodes that a command may go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <beck/redis/cluster.hpp>

#include "redis/cluster/node_table.hpp"
#include "redis/protocol/slot_map.hpp"

namespace beck::redis::detail {

/// The nodes of the slots. Thread: that of the context.
class cluster_map {
 public:
  /// `nodes` and `how` must outlive the object.
  cluster_map(node_table& nodes, const cluster_options& how)
      : nodes_(nodes), how_(how), slots_(how.nodes) {}

  /// Replaces the map, or throws std::bad_alloc and keeps the one before. Commands that wait for a
  /// connection to a node which is no primary any more end: they go to where the map says now.
  void use(slot_map&& made);
  /// Moves a slot to a node. Returns false if that would be one node too many. Throws
  /// std::bad_alloc.
  bool patch(std::uint16_t slot, const node_address& at);

  /// Returns whether a slot has an owner.
  bool is_known() const noexcept { return slots_.is_known(); }
  /// Returns the node that takes writes to a slot; nullptr: there is none, or it is not permitted.
  cluster_node* primary_of(std::uint16_t slot) const noexcept;
  /// Returns a replica of that node which is not known to be unreachable; nullptr: there is none.
  /// Requires a primary.
  cluster_node* replica_of(std::uint16_t slot) noexcept;
  /// Returns a primary for a command without a slot, or for a slot that the map does not assign:
  /// the server says what is wrong then.
  cluster_node& any_node() noexcept;

 private:
  node_table& nodes_;
  const cluster_options& how_;
  slot_map slots_;
  // By the numbers of the map; nullptr: the node is none of these, or is not permitted.
  std::vector<cluster_node*> owners_;     // of slots
  std::vector<cluster_node*> readers_;    // replicas that are read from
  std::vector<cluster_node*> primaries_;  // the owners, each once
  std::size_t turn_ = 0;                  // of nodes that any command may go to
};

}  // namespace beck::redis::detail
