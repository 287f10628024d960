// SPDX-License-Identifier: BSL-1.0
// A map becomes lists of nodes.
#include "redis/cluster/cluster_map.hpp"

#include <utility>

namespace beck::redis::detail {

void cluster_map::use(slot_map&& made) {
  std::vector<bool> is_owner(made.nodes().size());
  std::vector<bool> is_replica(is_owner.size());
  for (std::uint16_t slot = 0; slot < key_slots; ++slot) {
    if (made.owner(slot) != slot_map::none) is_owner[made.owner(slot)] = true;
  }
  for (std::size_t i = 0; i < is_owner.size(); ++i) {
    for (const std::uint16_t one : made.replicas(static_cast<std::uint16_t>(i)))
      is_replica[one] = true;
  }
  std::vector<cluster_node*> owners(is_owner.size());
  std::vector<cluster_node*> readers(is_owner.size());
  std::vector<cluster_node*> primaries;
  for (std::size_t i = 0; i < is_owner.size(); ++i) {
    const node_address& at = made.nodes()[i];
    if (!nodes_.is_permitted(at)) continue;
    if (is_owner[i]) primaries.push_back(owners[i] = &nodes_.get(at));
    if (is_replica[i] && how_.reads == prefer_replica) readers[i] = &nodes_.get(at, true);
  }
  // Nothing fails from here on.
  nodes_.set_named(primaries, readers);
  slots_ = std::move(made);
  owners_ = std::move(owners);
  readers_ = std::move(readers);
  primaries_ = std::move(primaries);
  nodes_.end_waiting_elsewhere();
}

bool cluster_map::patch(std::uint16_t slot, const node_address& at) {
  const std::uint16_t number = slots_.add(at);
  if (number == slot_map::none) return false;
  owners_.resize(slots_.nodes().size());
  cluster_node& node = nodes_.get(at);
  owners_[number] = &node;
  node.is_named = true;
  slots_.patch(slot, number);
  return true;
}

cluster_node* cluster_map::primary_of(std::uint16_t slot) const noexcept {
  const std::uint16_t owner = slots_.owner(slot);
  return owner != slot_map::none ? owners_[owner] : nullptr;
}

cluster_node* cluster_map::replica_of(std::uint16_t slot) noexcept {
  const std::vector<std::uint16_t>& replicas = slots_.replicas(slots_.owner(slot));
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    cluster_node* const one = readers_[replicas[(turn_ + i) % replicas.size()]];
    if (one == nullptr || one->is_pausing()) continue;
    turn_ += i + 1;
    return one;
  }
  return nullptr;
}

cluster_node& cluster_map::any_node() noexcept {
  for (std::size_t i = 0; i < primaries_.size(); ++i) {
    cluster_node& one = *primaries_[turn_++ % primaries_.size()];
    if (!one.is_pausing()) return one;
  }
  return primaries_.empty() ? nodes_.next_by_turns() : *primaries_[turn_++ % primaries_.size()];
}

}  // namespace beck::redis::detail
