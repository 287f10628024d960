// SPDX-License-Identifier: BSL-1.0
// A map becomes lists of nodes. Answers to CLUSTER SLOTS, and failures.
#include "redis/cluster/cluster_map.hpp"

#include <utility>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::int64_t question_pause = 100'000'000;  // nanoseconds
constexpr std::int64_t map_lifetime = 60'000'000'000;

}  // namespace

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
  if (node.role == node_role::none) node.role = node_role::named;
  slots_.patch(slot, number);
  return true;
}

cluster_node* cluster_map::primary_of(std::uint16_t slot) const noexcept {
  BECK_ASSERT(slot < key_slots, "a slot of a cluster is out of range");
  const std::uint16_t owner = slots_.owner(slot);
  return owner != slot_map::none ? owners_[owner] : nullptr;
}

cluster_node* cluster_map::replica_of(std::uint16_t slot) noexcept {
  BECK_ASSERT(slots_.owner(slot) != slot_map::none, "a replica was asked for of no primary");
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

// --- questions

void map_refresh::want(std::uint32_t from) noexcept {
  is_wanted_ = true;
  if (from != 0) source_ = from;
}

cluster_node& map_refresh::next_to_ask(std::int64_t now) noexcept {
  from_at_ = now + question_pause;
  cluster_node* const source = nodes_.find(std::exchange(source_, 0U));
  return source != nullptr ? *source : nodes_.next_by_turns();
}

void map_refresh::begin(cluster_node& node) noexcept {
  BECK_ASSERT(!is_asking_, "two nodes are asked for the map of a cluster at once");
  ++node.units;
  is_asking_ = true;
  is_wanted_ = false;
}

void map_refresh::end(cluster_node& node) noexcept {
  BECK_ASSERT(is_asking_ && node.units != 0, "a question for the map of a cluster has ended twice");
  --node.units;
  is_asking_ = false;
}

map_answer map_refresh::take(reply<value>& got, cluster_node& from, std::int64_t now) {
  const bool is_answered = got.outcome() == outcome::executed;
  from.is_doubtful = !is_answered;
  if (got.error()) {
    const bool is_lasting =
        is_answered ? !is_refused_for_now(got.error()) : from.connection->plan().was_refused();
    std::string text(got.error_text());
    if (!is_answered && !text.empty()) text = got.error().message() + ": " + text;  // of the login
    return fail(got.error(), text, is_lasting);
  }
  slot_map made(how_.nodes);
  const std::string wrong = made.read(got->root(), from.at.host);
  if (!wrong.empty()) return fail(error::wrong_reply, wrong, true);
  if (!made.is_known())
    return fail(error::clusterdown, "no slot is assigned to a node with an address", false);
  map_.use(std::move(made));
  failures_ = 0;
  until_ = now + map_lifetime;
  return map_answer::taken;
}

map_answer map_refresh::fail(const error_code& ec, std::string_view text, bool is_lasting) {
  ++failures_;
  error_ = ec;
  text_ = text;
  if (map_.is_known()) return map_answer::failed;
  const bool is_over = how_.connections.fails_fast && failures_ >= nodes_.seeds();
  if (!is_over && !is_lasting) return map_answer::failed;
  failures_ = 0;
  return map_answer::hopeless;
}

}  // namespace beck::redis::detail
