// SPDX-License-Identifier: BSL-1.0
// The commands of a call are divided among the nodes.
#include "redis/cluster/cluster_unit.hpp"

#include <new>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>

#include "redis/cluster/cluster_call.hpp"
#include "redis/cluster/cluster_core.hpp"
#include "redis/cluster/cluster_map.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::string_view asking_wire = "*1\r\n$6\r\nASKING\r\n";
constexpr std::size_t spare_units_max = 1'024;
constexpr std::size_t spare_unit_steps_max = 16;  // of each

}  // namespace

// --- a unit

cluster_unit::cluster_unit() noexcept : core_(nullptr) {}

cluster_unit::~cluster_unit() = default;

void cluster_unit::begin(cluster_core& core, cluster_call& call, cluster_node& to) noexcept {
  BECK_ASSERT(!core_ && steps_.empty(), "a unit of a call was begun twice");
  core_ = shared<cluster_core>(core);
  call_ = &call;
  node_ = &to;
  ++to.units;
  terms() = call.terms();
}

void cluster_unit::clear() noexcept {
  BECK_ASSERT(node_->units != 0, "more units have left a node than came to it");
  --node_->units;
  in_call.unlink();
  steps_.clear();
  parts_.clear();
  asks_ = false;
  core_ = shared<cluster_core>(nullptr);
}

void cluster_unit::add(std::uint32_t step, bool asks) {
  BECK_ASSERT(asks == asks_ || steps_.empty(), "ASKING is for all commands of a unit, or for none");
  if (asks && !asks_) parts_.push_back({asking_wire, 1});
  asks_ = asks;
  if (asks) terms().is_whole = true;
  parts_.push_back({call_->steps()[step].wire, 1});
  steps_.push_back(step);
}

void cluster_unit::close() { set_commands(parts_.data(), parts_.size()); }

reply_place cluster_unit::place_of(std::uint32_t i) noexcept {
  if (asks_ && i == 0) return detail::place_of(allowed_);
  return call_->place_of(call_->steps()[steps_[asks_ ? i - 1 : i]]);
}

void cluster_unit::done(const error_code& ec) noexcept { core_->end(*this, ec); }

void cluster_unit::drop() noexcept { core_->drop(*call_); }

// --- all units

unit_sender::unit_sender(cluster_core& core, cluster_map& map, node_table& nodes)
    : core_(core), map_(map), nodes_(nodes) {
  spare_.reserve(spare_units_max);
}

unit_sender::~unit_sender() = default;

void unit_sender::send(cluster_call& call) noexcept {
  BECK_ASSERT(map_.is_known(), "commands were sent to a cluster without a map");
  call.in_ready.unlink();
  made_.clear();
  try {
    for (std::uint32_t i = 0; i < call.steps().size(); ++i) {
      if (call.steps()[i].state == step_state::ready) gather(call, i);
    }
    for (cluster_unit* const one : made_) one->close();
  } catch (const std::bad_alloc&) {
    for (cluster_unit* const one : made_) {
      one->node().gathering = nullptr;
      for (const std::uint32_t step : one->steps()) call.steps()[step].state = step_state::ready;
      recycle(*one);
    }
    return call.end_unsent(no_memory(), {});
  }
  for (cluster_unit* const one : made_) start(*one);
}

/// Adds a command to the unit for its node.
void unit_sender::gather(cluster_call& call, std::uint32_t step) {
  cluster_step& one = call.steps()[step];
  cluster_node* to = one.asked != 0 ? nodes_.find(one.asked) : nullptr;
  const bool asks = to != nullptr;
  if (!asks) to = &node_for(call, one);
  // ASKING counts for one command, or up to EXEC.
  const bool is_alone = asks && !call.terms().is_whole;
  unit_for(call, *to, is_alone).add(step, asks);
  one.asked = 0;
  one.state = step_state::sent;
}

/// Returns the unit of the call for a node, or one for a command alone.
cluster_unit& unit_sender::unit_for(cluster_call& call, cluster_node& to, bool is_alone) {
  if (!is_alone && to.gathering != nullptr) return *to.gathering;
  if (spare_.empty()) spare_.push_back(std::make_unique<cluster_unit>());
  made_.push_back(spare_.back().get());
  cluster_unit& unit = *spare_.back().release();
  spare_.pop_back();
  unit.begin(core_, call, to);
  if (!is_alone) to.gathering = &unit;
  return unit;
}

/// Returns the node that a command is for.
cluster_node& unit_sender::node_for(const cluster_call& call, const cluster_step& step) noexcept {
  cluster_node* const primary =
      step.slot != cluster_step::no_slot ? map_.primary_of(step.slot) : nullptr;
  if (primary == nullptr) return made_.empty() ? map_.any_node() : made_.back()->node();
  if (!call.may_use_replicas || step.is_again) return *primary;
  cluster_node* const replica = map_.replica_of(step.slot);
  if (replica == nullptr) return *primary;
  ++to_replicas_;
  return *replica;
}

void unit_sender::start(cluster_unit& one) noexcept {
  one.node().gathering = nullptr;
  cluster_call& call = one.call();
  error_code ec;
  try {
    ec = nodes_.connection_to(one.node()).start(one);
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (!ec) return call.units.push_back(one);
  for (const std::uint32_t i : one.steps()) call.steps()[i].state = step_state::ready;
  call.end_unsent(ec, {});
  recycle(one);
}

void unit_sender::recycle(cluster_unit& one) noexcept {
  const shared<cluster_core> self(core_);
  std::unique_ptr<cluster_unit> ended(&one);
  const bool is_large = one.steps().size() > spare_unit_steps_max;
  one.clear();
  if (!is_large && spare_.size() < spare_units_max) spare_.push_back(std::move(ended));
}

}  // namespace beck::redis::detail
