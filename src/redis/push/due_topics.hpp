// SPDX-License-Identifier: BSL-1.0
// The names for which a command may be due: now, or behind a pause because the server has refused
// them for now. Without clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include <beck/detail/intrusive_list.hpp>

#include "redis/push/topic_table.hpp"

namespace beck::redis::detail {

/// Names that wait for their commands. Times are nanoseconds of any one steady clock. Thread: that
/// of the context.
class due_topics {
 public:
  using list = beck::detail::intrusive_list<topic, &topic::in_due>;

  due_topics() noexcept = default;
  due_topics(const due_topics&) = delete;
  due_topics& operator=(const due_topics&) = delete;

  /// Sets the time, for the pauses that begin now.
  void set_time(std::int64_t now) noexcept { now_ = now; }

  /// Adds a name, unless it waits already.
  void add(topic& one) noexcept {
    if (!one.in_due.is_linked()) due_.push_back(one);
  }
  /// Adds a name that was refused, behind a pause: with the others that pause, or for a time that
  /// is twice as long as the last one, if it is not the first time.
  void add_later(topic& one) noexcept {
    if (later_.empty()) {
      pause_ = one.refusals + one.losses <= 1 ? first_pause : std::min(2 * pause_, longest_pause);
      wake_at_ = now_ + pause_;
    }
    one.in_due.unlink();
    later_.push_back(one);
  }
  /// Takes the first name that is due; nullptr: there is none.
  topic* take() noexcept { return due_.pop_front(); }
  /// Takes all names that are due.
  void take_all(list& into) noexcept { into.splice_back(due_); }
  /// Returns whether no name is due.
  bool empty() const noexcept { return due_.empty(); }

  /// Returns when wake() is due; INT64_MAX: no name pauses.
  std::int64_t wake_at() const noexcept { return later_.empty() ? INT64_MAX : wake_at_; }
  /// Ends the pause, if it is time.
  void wake(std::int64_t now) noexcept {
    now_ = now;
    if (now >= wake_at()) end_pause();
  }
  void end_pause() noexcept { due_.splice_back(later_); }

 private:
  static constexpr std::int64_t first_pause = 10'000'000;  // doubling
  static constexpr std::int64_t longest_pause = 1'000'000'000;

  list due_;
  list later_;
  std::int64_t now_ = 0;
  std::int64_t wake_at_ = 0;
  std::int64_t pause_ = 0;  // the last one
};

}  // namespace beck::redis::detail
