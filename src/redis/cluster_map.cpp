// SPDX-License-Identifier: BSL-1.0
// The map of a cluster: from which node it is asked for, how often, and how the nodes change.
#include <new>
#include <string>
#include <utility>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>

#include "redis/cluster_core.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::int64_t question_pause = 100'000'000;  // nanoseconds
constexpr std::int64_t map_lifetime = 60'000'000'000;
constexpr duration map_answered_within(1'000'000'000);

}  // namespace

/// Lets the map be asked for, first from the node with this number.
void cluster_core::want_map(std::uint32_t from) noexcept {
  is_map_wanted_ = true;
  if (from != 0) map_source_ = from;
  wake_up();
}

void cluster_core::begin_asking() noexcept {
  map_from_at_ = beck::detail::loop_time() + question_pause;
  try {
    cluster_node& node = next_to_ask();
    connection_to(node);
    co_spawn(executor(), ask_for_map(shared<cluster_core>(*this), node), detached);
    ++node.units;  // it must not be swept
  } catch (const std::bad_alloc&) {
    return;  // later
  }
  is_asking_ = true;
  is_map_wanted_ = false;
}

/// Returns the node to ask: the one that has redirected a command, or another one by turns.
cluster_node& cluster_core::next_to_ask() noexcept {
  cluster_node* const source = find(std::exchange(map_source_, 0U));
  return source != nullptr ? *source : next_by_turns();
}

/// Returns a node, preferably one with a connection that has answered the last question for the
/// map.
cluster_node& cluster_core::next_by_turns() noexcept {
  const auto rank = [](const cluster_node& one) {
    if (!one.connection) return 1;
    if (one.connection->is_usable() && !one.is_doubtful) return 2;
    return one.connection->is_pausing() ? 0 : 1;
  };
  cluster_node* best = &nodes_.begin()->second;  // there is a seed
  for (auto& [key, one] : nodes_) {
    const int better = rank(one) - rank(*best);
    if (better > 0 || (better == 0 && one.turn < best->turn)) best = &one;
  }
  best->turn = ++last_turn_;
  return *best;
}

task<> cluster_core::ask_for_map(shared<cluster_core> self, cluster_node& node) {
  cluster_core& c = *self;
  bool has_memory = true;
  try {
    exec_one<value> question(sender_ref(*node.connection), "CLUSTER", "SLOTS");
    auto asking = timeout(std::move(question), map_answered_within);
    auto got = co_await std::move(asking);
    if (!c.is_closed_) c.take_map(got, node);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  c.is_asking_ = false;
  --node.units;
  if (c.is_closed_) co_return;
  if (!has_memory) c.fail_map(no_memory(), {}, false);
  c.wake_up();
}

void cluster_core::take_map(reply<value>& got, cluster_node& from) {
  const bool is_answered = got.outcome() == outcome::executed;
  from.is_doubtful = !is_answered;
  if (got.error()) {
    const bool is_lasting =
        is_answered ? !is_refused_for_now(got.error()) : from.connection->is_refused();
    std::string text(got.message());
    if (!is_answered && !text.empty()) text = got.error().message() + ": " + text;  // of the login
    return fail_map(got.error(), text, is_lasting);
  }
  slot_map made(how_.nodes());
  const std::string wrong = made.read(got->root(), from.at.host);
  if (!wrong.empty()) return fail_map(error::wrong_reply, wrong, true);
  if (!made.is_known())
    return fail_map(error::clusterdown, "no slot is assigned to a node with an address", false);
  use(std::move(made));
  ++stats_.maps;
  failed_questions_ = 0;
  map_until_ = beck::detail::loop_time() + map_lifetime;
}

/// Replaces the map, or throws and keeps the one before. Commands that wait for a connection to a
/// node which is no primary any more go to where the map says now.
void cluster_core::use(slot_map&& made) {
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
    if (!is_permitted(at)) continue;
    if (is_owner[i]) primaries.push_back(owners[i] = &get(at));
    if (is_replica[i] && how_.reads() == prefer_replica) readers[i] = &get(at, true);
  }
  // Nothing fails from here on.
  for (auto& [key, one] : nodes_) one.is_named = one.is_primary = false;
  for (cluster_node* const one : primaries) one->is_named = one->is_primary = true;
  for (cluster_node* const one : readers)
    if (one != nullptr) one->is_named = true;
  map_ = std::move(made);
  owners_ = std::move(owners);
  readers_ = std::move(readers);
  primaries_ = std::move(primaries);
  for (auto& [key, one] : nodes_) {
    if (one.connection && !one.is_primary) one.connection->end_waiting();
  }
}

/// Moves a slot to a node. Returns false if that would be one node too many.
bool cluster_core::patch(std::uint16_t slot, const node_address& at) {
  const std::uint16_t number = map_.add(at);
  if (number == slot_map::none) return false;
  owners_.resize(map_.nodes().size());
  cluster_node& node = get(at);
  owners_[number] = &node;
  node.is_named = true;
  map_.patch(slot, number);
  return true;
}

/// Notes why there is no new map. Calls that wait for the first one end, if that will not change or
/// if they are not to wait.
void cluster_core::fail_map(const error_code& ec, std::string_view text, bool is_lasting) {
  if (!calls_.empty()) is_map_wanted_ = true;
  ++failed_questions_;
  map_error_ = ec;
  map_error_text_ = text;
  if (map_.is_known()) return;
  const bool is_over = bounds().fails_fast() && failed_questions_ >= seeds_.size();
  if (!is_over && !is_lasting) return;
  failed_questions_ = 0;
  while (cluster_call* const call = ready_.pop_front()) {
    call->end_unsent(ec, text);
    settle(*call);
  }
}

}  // namespace beck::redis::detail
