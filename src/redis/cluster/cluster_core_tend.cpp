// SPDX-License-Identifier: BSL-1.0
// The task that tends a cluster: it judges the units that have ended, sends what is ready, asks for
// the map, and ends the calls that have waited for too long.
#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>

#include "redis/cluster/cluster_core.hpp"

namespace beck::redis::detail {
namespace {

constexpr duration map_answered_within(1'000'000'000);

}  // namespace

/// Lets tend() look again.
void cluster_core::wake_up() noexcept {
  is_due_ = true;
  timer_.cancel();
}

/// Sends what is ready, until the cluster is closed.
task<> cluster_core::tend(life self) {
  cluster_core& c = *self;
  while (!c.is_closed_) {
    c.is_due_ = false;
    const std::int64_t next = c.look(beck::detail::loop_time());
    if (c.is_due_ || c.is_closed_) continue;
    c.timer_.expires_at(time_point(duration(next)));
    beck::ignore(co_await c.timer_.async_wait());
  }
  for (cluster_call* call = c.calls_.first(); call != nullptr;) {
    cluster_call* const next = c.calls_.next(*call);
    call->end_unsent(beck::error::operation_aborted, {});
    c.settle(*call);
    call = next;
  }
  c.is_living_ = false;
}

/// Does all that is due. Returns when to look again.
std::int64_t cluster_core::look(std::int64_t now) noexcept {
  while (cluster_call* const call = calls_.take_judged()) {
    if (!judge_.judge(*call, now)) calls_.reset_pause();
    settle(*call);
  }
  calls_.wake(now);
  if (now >= refresh_.due_at()) ask_for_map(now);
  while (cluster_call* const call = map_.is_known() ? calls_.first_ready() : nullptr) {
    units_.send(*call);
    settle(*call);
  }
  const std::int64_t next = end_late(now);
  if (map_.is_known()) nodes_.sweep();
  return std::min({next, calls_.wake_at(), refresh_.due_at()});
}

/// Ends the calls that have waited for a map for too long. Returns when the next one has.
std::int64_t cluster_core::end_late(std::int64_t now) noexcept {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (cluster_call* call = calls_.first_ready(); call != nullptr;) {
    cluster_call* const behind = calls_.next_ready(*call);
    const std::int64_t end = judge_.end_of(*call);
    if (now < end) {
      next = std::min(next, end);
    } else {
      const error_code& why = refresh_.error();
      call->end_unsent(why ? why : error_code(beck::error::timeout), refresh_.text());
      settle(*call);
    }
    call = behind;
  }
  return next;
}

// --- the map

/// Lets the map be asked for, first from the node with this number, if it is not 0.
void cluster_core::want_map(std::uint32_t from) noexcept {
  refresh_.want(from);
  wake_up();
}

void cluster_core::ask_for_map(std::int64_t now) noexcept {
  try {
    cluster_node& node = refresh_.next_to_ask(now);
    nodes_.connection_to(node);
    co_spawn(executor(), wait_for_map(shared<cluster_core>(*this), node), detached);
    refresh_.begin(node);
  } catch (const std::bad_alloc&) {  // later
  }
}

task<> cluster_core::wait_for_map(shared<cluster_core> self, cluster_node& node) {
  cluster_core& c = *self;
  bool has_memory = true;
  try {
    exec_one<value> question(sender_ref(*node.connection), "CLUSTER", "SLOTS");
    auto asking = timeout(std::move(question), map_answered_within);
    auto got = co_await std::move(asking);
    if (!c.is_closed_) c.take_end(c.refresh_.take(got, node, beck::detail::loop_time()));
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  c.refresh_.end(node);
  if (c.is_closed_) co_return;
  if (!has_memory) c.take_end(c.refresh_.fail(no_memory(), {}, false));
  c.wake_up();
}

/// Takes the end of a question for the map.
void cluster_core::take_end(map_answer answer) noexcept {
  if (answer == map_answer::taken) ++stats_.maps;
  if (answer == map_answer::taken) return;
  if (calls_.size() != 0) refresh_.want(0);
  if (answer != map_answer::hopeless) return;
  while (cluster_call* const call = calls_.take_ready()) {
    call->end_unsent(refresh_.error(), refresh_.text());
    settle(*call);
  }
}

}  // namespace beck::redis::detail
