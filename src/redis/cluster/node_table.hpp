// SPDX-License-Identifier: BSL-1.0
// The servers of a cluster, and the connections to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <beck/redis/cluster.hpp>

#include "redis/client/link.hpp"
#include "redis/protocol/slot_map.hpp"
#include "redis/session/handshake.hpp"

namespace beck::redis::detail {

class cluster_unit;

/// The part of a node in the map.
enum class node_role : std::uint8_t {
  none,     ///< the map does not name it
  named,    ///< as a replica that is read from, or as the new place of a slot
  primary,  ///< the owner of slots
};

/// A server of the cluster, and the connection to it. A server that is read from as a replica is a
/// node of its own: only its connection has READONLY, behind which a former primary would answer
/// reads itself instead of redirecting them. Owned by node_table.
struct cluster_node {
  cluster_node(const node_address& place, bool reads) : at(place), is_reader(reads) {}

  const node_address at;
  const bool is_reader;  ///< it is read from as a replica
  std::uint32_t id = 0;
  std::uint64_t turn = 0;             ///< when it was made, or last returned by next_by_turns()
  link_ref connection{nullptr};       ///< none: it was not needed yet
  std::size_t units = 0;              ///< that are under way there; such a node is not swept
  cluster_unit* gathering = nullptr;  ///< of the call that is being sent
  node_role role = node_role::none;
  bool is_doubtful = false;  ///< it has not answered the last question for the map
  bool is_seed = false;

  /// Returns whether its server is known not to be reachable now.
  bool is_pausing() const noexcept { return connection && connection->plan().is_pausing(); }
};

/// The nodes of a cluster. They stay where they are until sweep(). Thread: that of the context.
class node_table {
 public:
  /// Begins with the seeds, one at least. `how` must outlive the object.
  node_table(const any_io_executor& executor, std::vector<server_url> seeds,
             const cluster_options& how);

  /// Describes all connections, also those that there are.
  void secure(stream_layer& with) noexcept;
  void login_with(credentials& from) noexcept;
  /// Closes all connections.
  void close() noexcept;

  /// Returns a node; nullptr: it is not known.
  cluster_node* find(const node_address& at, bool is_reader = false);
  cluster_node* find(std::uint32_t id) noexcept;
  /// Returns the node at an address, which is made if there is none. Throws std::bad_alloc.
  cluster_node& get(const node_address& at, bool is_reader = false);
  /// Returns the connection to a node, which is made if there is none. Throws std::bad_alloc.
  link& connection_to(cluster_node& node);
  /// Returns a node, preferably one with a connection that has answered the last question for the
  /// map.
  cluster_node& next_by_turns() noexcept;

  /// Takes the nodes that a new map names. `readers` may have a nullptr.
  void set_named(const std::vector<cluster_node*>& primaries,
                 const std::vector<cluster_node*>& readers) noexcept;
  /// Ends the commands that wait for a connection to a node which is none of these primaries.
  void end_waiting_elsewhere() noexcept;
  /// Closes the connections to nodes that the map does not name, and forgets them.
  void sweep() noexcept;

  bool is_permitted(const node_address& at) const noexcept;
  /// Returns whether ASK may name further nodes.
  bool has_room() const noexcept;
  std::size_t seeds() const noexcept { return seeds_.size(); }
  /// Returns how many nodes have a connection, or one that is being made.
  std::size_t connected() const noexcept;

 private:
  const any_io_executor executor_;
  const std::vector<server_url> seeds_;
  const cluster_options& how_;
  stream_layer* layer_ = nullptr;
  credentials* credentials_ = nullptr;
  std::map<std::pair<node_address, bool>, cluster_node> nodes_;  // by at and is_reader
  std::uint32_t last_id_ = 0;
  std::uint64_t last_turn_ = 0;
};

}  // namespace beck::redis::detail
