// SPDX-License-Identifier: BSL-1.0
// The map of a cluster: from which node it is asked for, how often, and how the nodes change.
#include <algorithm>
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

/// Returns the node to ask: the one that knows of a change, or another one by turns, preferably one
/// with a connection.
cluster_node& cluster_core::next_to_ask() noexcept {
  if (cluster_node* const source = find(std::exchange(map_source_, 0U))) return *source;
  cluster_node* best = nullptr;
  int best_rank = -1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    cluster_node& one = *nodes_[(question_ + i) % nodes_.size()];
    const int rank = !one.connection                 ? 1
                     : one.connection->is_usable()   ? 2
                     : !one.connection->is_pausing() ? 1
                                                     : 0;
    if (rank <= best_rank) continue;
    best = &one;
    best_rank = rank;
  }
  ++question_;
  return *best;  // there is a seed
}

task<> cluster_core::ask_for_map(shared<cluster_core> self, cluster_node& node) {
  cluster_core& c = *self;
  exec_one<value> question(sender_ref(*node.connection), "CLUSTER", "SLOTS");
  auto asking = timeout(std::move(question), map_answered_within);
  auto got = co_await std::move(asking);
  c.is_asking_ = false;
  --node.units;
  if (c.is_closed_) co_return;
  try {
    c.take_map(got, node);
  } catch (const std::bad_alloc&) {
    c.fail_map(no_memory(), {});
  }
  c.wake_up();
}

void cluster_core::take_map(reply<value>& got, const cluster_node& from) {
  if (got.error()) return fail_map(got.error(), got.message());
  slot_map made(how_.nodes());
  const std::string wrong = made.read(got->root(), from.at.host);
  if (!wrong.empty()) return fail_map(error::wrong_reply, wrong);
  if (!made.is_known()) return fail_map(error::clusterdown, "no slot is assigned");
  map_ = std::move(made);
  ++stats_.maps;
  failed_questions_ = 0;
  map_until_ = beck::detail::loop_time() + map_lifetime;
  use_map();
}

/// Finds the nodes of a new map. Commands that wait for a connection to a node which is no primary
/// any more go to where the map says now.
void cluster_core::use_map() {
  for (const std::unique_ptr<cluster_node>& one : nodes_) one->is_named = false;
  by_number_.clear();
  primaries_.clear();
  for (const node_address& at : map_.nodes()) {
    by_number_.push_back(is_permitted(at) ? &get(at) : nullptr);
    if (by_number_.back() != nullptr) by_number_.back()->is_named = true;
  }
  std::vector<bool> owns(by_number_.size());
  for (std::uint16_t slot = 0; slot < key_slots; ++slot) {
    if (map_.owner(slot) != slot_map::none) owns[map_.owner(slot)] = true;
  }
  for (std::size_t i = 0; i < owns.size(); ++i) {
    if (owns[i] && by_number_[i] != nullptr) primaries_.push_back(by_number_[i]);
  }
  for (const std::unique_ptr<cluster_node>& one : nodes_) {
    if (one->connection &&
        std::find(primaries_.begin(), primaries_.end(), one.get()) == primaries_.end())
      one->connection->end_waiting();
  }
}

/// Moves a slot to a node. Returns false if that would be one node too many.
bool cluster_core::patch(std::uint16_t slot, const node_address& at) {
  const std::uint16_t number = map_.add(at);
  if (number == slot_map::none) return false;
  if (number == by_number_.size()) by_number_.push_back(nullptr);
  cluster_node& node = get(at);
  by_number_[number] = &node;
  node.is_named = true;
  map_.patch(slot, number);
  return true;
}

/// Notes why there is no new map. Calls that wait for the first one end, if that will not change or
/// if they are not to wait.
void cluster_core::fail_map(const error_code& ec, std::string_view text) {
  if (!calls_.empty()) is_map_wanted_ = true;
  ++failed_questions_;
  map_error_ = ec;
  map_error_text_ = text;
  if (map_.is_known()) return;
  const bool is_over = bounds().fails_fast() && failed_questions_ >= seeds_.size();
  if (!is_over && !is_refusal(ec)) return;
  while (cluster_call* const call = ready_.pop_front()) {
    call->end_unsent(ec, text);
    settle(*call);
  }
}

}  // namespace beck::redis::detail
