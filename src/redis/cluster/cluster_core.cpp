// SPDX-License-Identifier: BSL-1.0
// Calls of a cluster come and end. Sessions call done() of a unit in the middle of their work, so
// it only lists the calls whose commands are to be judged; tend() judges and sends them, those of a
// call together, however many units have ended.
#include "redis/cluster/cluster_core.hpp"

#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {
namespace {

/// Returns the options with those of the connections that the cluster has kept.
cluster_options with_connections(cluster_options how, const client_options& kept) noexcept {
  how.connections = kept;
  return how;
}

}  // namespace

cluster_core::cluster_core(const any_io_executor& executor, std::vector<server_url> seeds,
                           const cluster_options& how)
    : sender(executor, how.connections),
      how_(with_connections(how, bounds())),
      nodes_(sender::executor(), std::move(seeds), how_),
      map_(nodes_, how_),
      refresh_(map_, nodes_, how_),
      units_(*this, map_, nodes_),
      judge_(nodes_, map_, refresh_, how_),
      timer_(executor) {}

cluster_core::~cluster_core() {
  BECK_ASSERT(calls_.size() == 0 && !is_living_,
              "a cluster was destroyed while calls were under way");
}

// --- coming

error_code cluster_core::check(const arguments& command, bool) noexcept {
  return facts_of(command).needs_lane() ? error_code(error::needs_lane) : error_code();
}

error_code cluster_core::start(exchange& one) noexcept {
  if (is_closed_) return beck::error::operation_aborted;
  if (calls_.size() >= bounds().waiting) return error::queue_full;
  if (const error_code ec = begin_living(); ec) return ec;
  const std::int64_t at = now();
  cluster_call* made = nullptr;
  error_code ec;
  try {
    made = &calls_.make(one, at);
    ec = made->plan();
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (ec) {
    if (made != nullptr) calls_.recycle(*made);
    return ec;
  }
  cluster_call& call = *made;
  call.may_use_replicas = how_.reads == prefer_replica && call.only_reads();
  calls_.add(call);
  stats_.divided += call.divided();
  if (refresh_.is_stale(at)) want_map(0);
  if (map_.is_known()) units_.send(call);
  if (!call.units.empty()) return {};
  calls_.send_later(call);
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

// --- going

void cluster_core::end(cluster_unit& one, const error_code& ec) noexcept {
  const shared<cluster_core> self(*this);  // the unit may have the last one
  cluster_call& call = one.call();
  one.in_call.unlink();
  const bool is_over = call.is_cancelled || is_closed_;
  if (ec && !is_over) want_map(0);
  const bool is_open = judge_.take_end(one, ec, is_over, now());
  units_.recycle(one);
  if (is_open) {
    calls_.judge_later(call);
    wake_up();
  } else {
    calls_.reset_pause();
    if (call.units.empty()) settle(call);
  }
}

/// Completes a call if all of its commands have ended, or lists its commands to send.
void cluster_core::settle(cluster_call& call) noexcept {
  const bool has_ready = call.has(step_state::ready);
  const bool has_resting = call.has(step_state::resting);
  if (has_ready) calls_.send_later(call);
  if (has_resting) calls_.rest(call, now());
  if (has_ready || has_resting) return wake_up();
  if (call.is_held || call.in_judged.is_linked() || !call.units.empty()) return;
  const error_code ec = call.conclude(bounds().protocol);
  calls_.end(call).done(ec);
}

void cluster_core::cancel(exchange& one) noexcept {
  if (!one.is_under_way()) return;
  const shared<cluster_core> self(*this);
  cluster_call& call = cluster_call::of(one);
  call.is_cancelled = true;
  call.is_held = true;
  call.end_unsent(beck::error::operation_aborted, {});
  for (cluster_unit* unit = call.units.front(); unit != nullptr;) {
    cluster_unit* const next = call.units.after(*unit);
    unit->node().connection->cancel(*unit);  // the unit may be gone then, none behind it
    unit = next;
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
  while (cluster_unit* const unit = call.units.pop_front()) {
    if (unit->is_under_way()) unit->node().connection->forget(*unit);
    units_.recycle(*unit);
  }
  return calls_.end(call);
}

void cluster_core::drop_all() noexcept {
  is_closed_ = true;
  is_living_ = false;
  while (cluster_call* const call = calls_.first()) drop(*call);
}

void cluster_core::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  nodes_.close();
  wake_up();
}

cluster_stats cluster_core::stats() const noexcept {
  cluster_stats now = stats_;
  now.calls = calls_.size();
  now.nodes = nodes_.connected();
  now.to_replicas = units_.to_replicas();
  judge_.count(now);
  return now;
}

}  // namespace beck::redis::detail
