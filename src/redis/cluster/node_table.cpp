// SPDX-License-Identifier: BSL-1.0
// Nodes come with redirects and maps, and go when no map names them.
#include "redis/cluster/node_table.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {

node_table::node_table(const any_io_executor& executor, std::vector<server_url> seeds,
                       const cluster_options& how)
    : executor_(executor), seeds_(std::move(seeds)), how_(how) {
  BECK_ASSERT(!seeds_.empty(), "a cluster has no node to begin with");
  for (const server_url& one : seeds_) get({one.host, one.port}).is_seed = true;
}

void node_table::secure(stream_layer& with) noexcept {
  layer_ = &with;
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->plan().secure(with);
  }
}

void node_table::login_with(credentials& from) noexcept {
  credentials_ = &from;
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->plan().login_with(from);
  }
}

void node_table::close() noexcept {
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->close();
  }
}

cluster_node* node_table::find(const node_address& at, bool is_reader) {
  const auto known = nodes_.find({at, is_reader});
  return known != nodes_.end() ? &known->second : nullptr;
}

cluster_node* node_table::find(std::uint32_t id) noexcept {
  const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& one) { return one.second.id == id; });
  return known != nodes_.end() ? &known->second : nullptr;
}

cluster_node& node_table::get(const node_address& at, bool is_reader) {
  const auto [place, is_new] = nodes_.try_emplace({at, is_reader}, at, is_reader);
  cluster_node& one = place->second;
  if (!is_new) return one;
  one.id = ++last_id_;
  one.turn = ++last_turn_;
  return one;
}

/// The session decides nothing: each loss and each refusal comes back at once, so that its commands
/// can go to another node.
link& node_table::connection_to(cluster_node& node) {
  if (!node.connection) {
    server_url to = seeds_.front();
    to.host = node.at.host;
    to.port = node.at.port;
    to.reads_replicas = node.is_reader;
    client_options each = how_.connections;
    each.attempts = 1;
    each.fails_fast = true;
    each.waiting = static_cast<std::size_t>(-1);
    node.connection = link_ref(new link(executor_, std::move(to), each, 0));
    if (layer_ != nullptr) node.connection->plan().secure(*layer_);
    if (credentials_ != nullptr) node.connection->plan().login_with(*credentials_);
  }
  return *node.connection;
}

cluster_node& node_table::next_by_turns() noexcept {
  const auto rank = [](const cluster_node& one) {
    if (!one.connection) return 1;
    if (one.connection->connection().is_usable() && !one.is_doubtful) return 2;
    return one.is_pausing() ? 0 : 1;
  };
  cluster_node* best = &nodes_.begin()->second;  // there is a seed
  for (auto& [key, one] : nodes_) {
    const int better = rank(one) - rank(*best);
    if (better > 0 || (better == 0 && one.turn < best->turn)) best = &one;
  }
  best->turn = ++last_turn_;
  return *best;
}

// --- by the map

void node_table::set_named(const std::vector<cluster_node*>& primaries,
                           const std::vector<cluster_node*>& readers) noexcept {
  for (auto& [key, one] : nodes_) one.role = node_role::none;
  for (cluster_node* const one : primaries) one->role = node_role::primary;
  for (cluster_node* const one : readers)
    if (one != nullptr) one->role = node_role::named;
}

void node_table::end_waiting_elsewhere() noexcept {
  for (auto& [key, one] : nodes_) {
    if (!one.connection || one.role == node_role::primary ||
        one.connection->connection().is_ready())
      continue;
    one.connection->end_waiting(INT64_MAX);
  }
}

void node_table::sweep() noexcept {
  for (auto& [key, one] : nodes_) {
    if (one.role != node_role::none || one.units != 0 || !one.connection) continue;
    one.connection->close();
    one.connection = link_ref(nullptr);
  }
  std::erase_if(nodes_, [](const auto& entry) {
    const cluster_node& one = entry.second;
    return one.role == node_role::none && !one.is_seed && one.units == 0;
  });
}

// --- bounds

bool node_table::is_permitted(const node_address& at) const noexcept {
  return how_.permit == nullptr || how_.permit(at.host, at.port);
}

bool node_table::has_room() const noexcept {
  return nodes_.size() < 2 * how_.nodes + seeds_.size();
}

std::size_t node_table::connected() const noexcept {
  const auto has_connection = [](const auto& entry) {
    return static_cast<bool>(entry.second.connection);
  };
  return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), has_connection));
}

}  // namespace beck::redis::detail
