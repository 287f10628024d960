// SPDX-License-Identifier: BSL-1.0
// Calls of a cluster come, are divided among the nodes, and end. Sessions call done() of a unit in
// the middle of their work, so it only lists the calls whose commands are to be judged; tend()
// judges and sends them, those of a call together, however many units have ended.
#include "redis/cluster_core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <beck/coro/co_spawn.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::string_view asking_wire = "*1\r\n$6\r\nASKING\r\n";
constexpr std::int64_t rest_first = 10'000'000;  // nanoseconds, doubling
constexpr std::int64_t rest_most = 1'000'000'000;
constexpr std::size_t spares_max = 1'024;
constexpr std::size_t spare_steps_max = 16;  // of each

}  // namespace

// --- units

void cluster_unit::begin(cluster_core& core, cluster_call& call, cluster_node& to) noexcept {
  core_ = shared<cluster_core>(core);
  call_ = &call;
  node_ = &to;
  ++to.units;
  set_limits(call.limits());
  set_retryable(call.is_retryable());
}

void cluster_unit::clear() noexcept {
  --node_->units;
  steps_.clear();
  parts_.clear();
  asks_ = false;
  core_ = shared<cluster_core>(nullptr);
}

void cluster_unit::add(std::uint32_t step, bool asks) {
  if (asks && !asks_) parts_.push_back({asking_wire, 1});
  asks_ = asks;
  parts_.push_back({call_->steps()[step].wire, 1});
  steps_.push_back(step);
}

void cluster_unit::close() {
  set_commands(parts_.data(), parts_.size());
  if (asks_ || call_->is_whole()) set_whole();
}

reply_place cluster_unit::place_of(std::uint32_t i) noexcept {
  if (asks_ && i == 0) return detail::place_of(allowed_);
  return call_->place_of(call_->steps()[steps_[asks_ ? i - 1 : i]]);
}

void cluster_unit::done(const error_code& ec) noexcept { core_->end(*this, ec); }

void cluster_unit::drop() noexcept { core_->drop(*call_); }

void cluster_call::add(cluster_unit& one) noexcept {
  one.place_ = units.size();
  units.push_back(&one);
}

void cluster_call::remove(cluster_unit& one) noexcept {
  units[one.place_] = units.back();
  units[one.place_]->place_ = one.place_;
  units.pop_back();
}

// --- coming

cluster_core::cluster_core(const any_io_executor& executor, std::vector<server_url> seeds,
                           const cluster_options& how)
    : sender(executor, how.connections()),
      how_(how),
      seeds_(std::move(seeds)),
      map_(how.nodes()),
      timer_(executor) {
  spare_calls_.reserve(spares_max);
  spare_units_.reserve(spares_max);
  for (const server_url& one : seeds_) get({one.host, one.port}).is_seed = true;
}

cluster_core::~cluster_core() = default;

void cluster_core::secure(stream_layer& with) noexcept {
  layer_ = &with;
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->plan().secure(with);
  }
}

void cluster_core::login_with(credentials& from) noexcept {
  credentials_ = &from;
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->plan().login_with(from);
  }
}

error_code cluster_core::check(const arguments& command, bool) noexcept {
  return facts_of(command).needs_lane() ? error_code(error::needs_lane) : error_code();
}

error_code cluster_core::start(exchange& one) noexcept {
  if (is_closed_) return beck::error::operation_aborted;
  if (stats_.calls >= bounds().waiting()) return error::queue_full;
  if (const error_code ec = begin_living(); ec) return ec;
  const std::int64_t now = time_of(executor());
  if (spare_calls_.empty()) {
    try {
      spare_calls_.push_back(std::make_unique<cluster_call>());
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }
  cluster_call& call = *spare_calls_.back().release();
  spare_calls_.pop_back();
  call.begin(one, now);
  error_code ec;
  try {
    ec = call.plan();
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (ec) {
    recycle(call);
    return ec;
  }
  call.may_use_replicas = how_.reads() == prefer_replica && call.only_reads();
  calls_.push_back(call);
  ++stats_.calls;
  stats_.divided += call.divided();
  if (!map_.is_known() || now >= map_until_) want_map(0);
  if (map_.is_known()) route(call);
  if (!call.units.empty()) return {};
  if (!call.in_ready.is_linked()) ready_.push_back(call);
  wake_up();
  return {};
}

error_code cluster_core::begin_living() noexcept {
  if (is_living_) return {};
  try {
    co_spawn(executor(), tend(life(*this)), detached);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  is_living_ = true;  // from here on the end of the `life` drops the calls
  return {};
}

// --- sending

/// Sends the commands of a call that are ready, one unit to each node. Requires a map.
void cluster_core::route(cluster_call& call) noexcept {
  call.in_ready.unlink();
  made_.clear();
  try {
    for (std::uint32_t i = 0; i < call.steps().size(); ++i) {
      if (call.steps()[i].state == step_state::ready) gather(call, i);
    }
    call.units.reserve(call.units.size() + made_.size());
    for (cluster_unit* const one : made_) one->close();
  } catch (const std::bad_alloc&) {
    for (cluster_unit* const one : made_) {
      one->node().gathering = nullptr;
      for (const std::uint32_t step : one->steps()) call.steps()[step].state = step_state::ready;
      recycle(*one);
    }
    return call.end_unsent(no_memory(), {});
  }
  for (cluster_unit* const one : made_) send(*one);
}

/// Adds a command to the unit for its node.
void cluster_core::gather(cluster_call& call, std::uint32_t step) {
  cluster_step& one = call.steps()[step];
  cluster_node* to = one.asked != 0 ? find(one.asked) : nullptr;
  const bool asks = to != nullptr;
  if (!asks) to = &node_for(call, one);
  const bool is_alone = asks && !call.is_whole();  // ASKING counts for one command, or up to EXEC
  cluster_unit* unit = is_alone ? nullptr : to->gathering;
  if (unit == nullptr) {
    if (spare_units_.empty()) spare_units_.push_back(std::make_unique<cluster_unit>());
    made_.push_back(spare_units_.back().get());
    unit = spare_units_.back().release();
    spare_units_.pop_back();
    unit->begin(*this, call, *to);
    if (!is_alone) to->gathering = unit;
  }
  unit->add(step, asks);
  one.asked = 0;
  one.state = step_state::sent;
}

void cluster_core::send(cluster_unit& one) noexcept {
  one.node().gathering = nullptr;
  cluster_call& call = one.call();
  error_code ec;
  try {
    ec = connection_to(one.node()).start(one);
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (!ec) return call.add(one);
  for (const std::uint32_t i : one.steps()) call.steps()[i].state = step_state::ready;
  call.end_unsent(ec, {});
  recycle(one);
}

/// Returns the node that a command is for.
cluster_node& cluster_core::node_for(const cluster_call& call, const cluster_step& step) noexcept {
  const std::uint16_t owner =
      step.slot == cluster_step::no_slot ? slot_map::none : map_.owner(step.slot);
  cluster_node* const primary = owner != slot_map::none ? owners_[owner] : nullptr;
  if (primary == nullptr) return made_.empty() ? any_node() : made_.back()->node();
  cluster_node* const replica =
      call.may_use_replicas && !step.is_again ? replica_for(owner) : nullptr;
  return replica != nullptr ? *replica : *primary;
}

/// Returns a replica of a node that is not known to be unreachable; nullptr: there is none.
cluster_node* cluster_core::replica_for(std::uint16_t owner) noexcept {
  const std::vector<std::uint16_t>& replicas = map_.replicas(owner);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    cluster_node* const one = readers_[replicas[(turn_ + i) % replicas.size()]];
    if (one == nullptr || (one->connection && one->connection->is_pausing())) continue;
    turn_ += i + 1;
    ++stats_.to_replicas;
    return one;
  }
  return nullptr;
}

/// Returns a primary for a command without a slot, or for a slot that the map does not assign: the
/// server says what is wrong then.
cluster_node& cluster_core::any_node() noexcept {
  for (std::size_t i = 0; i < primaries_.size(); ++i) {
    cluster_node& one = *primaries_[turn_++ % primaries_.size()];
    if (!one.connection || !one.connection->is_pausing()) return one;
  }
  return primaries_.empty() ? next_by_turns() : *primaries_[turn_++ % primaries_.size()];
}

// --- going

/// Completes a call if all of its commands have ended, or lists its commands to send.
void cluster_core::settle(cluster_call& call) noexcept {
  const bool has_ready = call.has(step_state::ready);
  const bool has_resting = call.has(step_state::resting);
  if (has_ready && !call.in_ready.is_linked()) ready_.push_back(call);
  if (has_resting && !call.in_resting.is_linked()) {
    if (resting_.empty()) {
      wake_pause_ = wake_pause_ == 0 ? rest_first : std::min(2 * wake_pause_, rest_most);
      wake_at_ = time_of(executor()) + wake_pause_;
    }
    resting_.push_back(call);
  }
  if (has_ready || has_resting) return wake_up();
  if (call.is_held || call.in_judged.is_linked() || !call.units.empty()) return;
  --stats_.calls;
  const error_code ec = call.conclude(bounds().version());
  recycle(call).done(ec);
}

/// Keeps a unit for later, or destroys it.
void cluster_core::recycle(cluster_unit& one) noexcept {
  const shared<cluster_core> self(*this);
  std::unique_ptr<cluster_unit> ended(&one);
  const bool is_large = one.steps().size() > spare_steps_max;
  one.clear();
  if (!is_large && !one.is_whole() && spare_units_.size() < spares_max)
    spare_units_.push_back(std::move(ended));
}

/// Keeps a call for later, or destroys it. Returns its exchange.
exchange& cluster_core::recycle(cluster_call& call) noexcept {
  std::unique_ptr<cluster_call> ended(&call);
  const bool is_large = call.steps().size() > spare_steps_max;
  exchange& user = call.clear();
  if (!is_large && spare_calls_.size() < spares_max) spare_calls_.push_back(std::move(ended));
  return user;
}

void cluster_core::cancel(exchange& one) noexcept {
  if (!one.is_under_way()) return;
  const shared<cluster_core> self(*this);
  cluster_call& call = cluster_call::of(one);
  call.is_cancelled = true;
  call.is_held = true;
  call.end_unsent(beck::error::operation_aborted, {});
  for (std::size_t i = call.units.size(); i-- != 0;) {  // the unit may be removed, none before it
    cluster_unit& unit = *call.units[i];
    unit.node().connection->cancel(unit);
  }
  call.is_held = false;
  settle(call);
}

void cluster_core::forget(exchange& one) noexcept { release(cluster_call::of(one)); }

void cluster_core::drop(cluster_call& call) noexcept {
  const shared<cluster_core> self(*this);
  release(call).drop();
}

/// Ends a call with its units, and leaves the exchange as it is.
exchange& cluster_core::release(cluster_call& call) noexcept {
  for (cluster_unit* const unit : call.units) {
    if (unit->is_under_way()) unit->node().connection->forget(*unit);
    recycle(*unit);
  }
  --stats_.calls;
  return recycle(call);
}

void cluster_core::drop_all() noexcept {
  is_closed_ = true;
  is_living_ = false;
  while (cluster_call* const call = calls_.front()) drop(*call);
}

void cluster_core::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  for (auto& [key, one] : nodes_) {
    if (one.connection) one.connection->close();
  }
  wake_up();
}

cluster_stats cluster_core::stats() const noexcept {
  cluster_stats now = stats_;
  for (const auto& [key, one] : nodes_) {
    if (one.connection) ++now.nodes;
  }
  return now;
}

}  // namespace beck::redis::detail
