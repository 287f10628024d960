// SPDX-License-Identifier: BSL-1.0
// Calls come, rest, and end.
#include "redis/cluster/call_lists.hpp"

#include <algorithm>
#include <utility>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::int64_t rest_first = 10'000'000;  // nanoseconds, doubling
constexpr std::int64_t rest_most = 1'000'000'000;
constexpr std::size_t spare_calls_max = 1'024;
constexpr std::size_t spare_call_steps_max = 16;  // of each

}  // namespace

call_lists::call_lists() { spare_.reserve(spare_calls_max); }

call_lists::~call_lists() = default;

cluster_call& call_lists::make(exchange& user, std::int64_t now) {
  if (spare_.empty()) spare_.push_back(std::make_unique<cluster_call>());
  cluster_call& call = *spare_.back().release();
  spare_.pop_back();
  call.begin(user, now);
  return call;
}

void call_lists::add(cluster_call& call) noexcept {
  all_.push_back(call);
  ++size_;
}

exchange& call_lists::end(cluster_call& call) noexcept {
  BECK_ASSERT(size_ != 0, "more calls of a cluster have ended than came");
  --size_;
  return recycle(call);
}

exchange& call_lists::recycle(cluster_call& call) noexcept {
  std::unique_ptr<cluster_call> ended(&call);
  const bool is_large = call.steps().size() > spare_call_steps_max;
  exchange& user = call.clear();
  if (!is_large && spare_.size() < spare_calls_max) spare_.push_back(std::move(ended));
  return user;
}

void call_lists::rest(cluster_call& call, std::int64_t now) noexcept {
  if (call.in_resting.is_linked()) return;
  if (resting_.empty()) {
    pause_ = pause_ == 0 ? rest_first : std::min(2 * pause_, rest_most);
    wake_at_ = now + pause_;
  }
  resting_.push_back(call);
}

void call_lists::wake(std::int64_t now) noexcept {
  if (now < wake_at()) return;
  while (cluster_call* const call = resting_.pop_front()) {
    for (cluster_step& one : call->steps()) {
      if (one.state == step_state::resting) one.state = step_state::ready;
    }
    send_later(*call);
  }
}

}  // namespace beck::redis::detail
