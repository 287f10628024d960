// SPDX-License-Identifier: BSL-1.0
// The calls of a cluster that are under way, in lists by what they wait for. Ended ones are kept
// and used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <beck/detail/intrusive_list.hpp>

#include "redis/cluster/cluster_call.hpp"

namespace beck::redis::detail {

/// The calls of a cluster. Thread: that of the context.
class call_lists {
 public:
  call_lists();
  call_lists(const call_lists&) = delete;
  call_lists& operator=(const call_lists&) = delete;
  ~call_lists();

  /// Makes a call for an exchange; it is not under way. Throws std::bad_alloc.
  cluster_call& make(exchange& user, std::int64_t now);
  /// Notes that a call is under way.
  void add(cluster_call& call) noexcept;
  /// Ends a call that is under way, and destroys it or keeps it for later. Returns its exchange.
  exchange& end(cluster_call& call) noexcept;
  /// Destroys a call that is not under way, or keeps it for later.
  exchange& recycle(cluster_call& call) noexcept;

  std::size_t size() const noexcept { return size_; }
  /// Returns the first call; nullptr: there is none.
  cluster_call* first() noexcept { return all_.front(); }
  cluster_call* next(cluster_call& call) noexcept { return all_.after(call); }

  // --- calls whose units have ended without a final reply: the next states are to be found

  void judge_later(cluster_call& call) noexcept {
    if (!call.in_judged.is_linked()) judged_.push_back(call);
  }
  cluster_call* take_judged() noexcept { return judged_.pop_front(); }

  // --- calls with commands to send

  void send_later(cluster_call& call) noexcept {
    if (!call.in_ready.is_linked()) ready_.push_back(call);
  }
  cluster_call* first_ready() noexcept { return ready_.front(); }
  cluster_call* next_ready(cluster_call& call) noexcept { return ready_.after(call); }
  cluster_call* take_ready() noexcept { return ready_.pop_front(); }

  // --- calls with commands that rest before they are sent

  /// Lets a call rest: with the others that do, or for a pause that is twice as long as the last
  /// one, unless reset_pause() was called between.
  void rest(cluster_call& call, std::int64_t now) noexcept;
  void reset_pause() noexcept { pause_ = 0; }
  /// Returns when wake() is due; INT64_MAX: no call rests.
  std::int64_t wake_at() const noexcept { return resting_.empty() ? INT64_MAX : wake_at_; }
  /// Lets the commands that rest be sent, if it is time.
  void wake(std::int64_t now) noexcept;

 private:
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_calls> all_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_judged> judged_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_ready> ready_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_resting> resting_;
  std::size_t size_ = 0;
  std::int64_t wake_at_ = 0;
  std::int64_t pause_ = 0;  // the last one
  std::vector<std::unique_ptr<cluster_call>> spare_;
};

}  // namespace beck::redis::detail
