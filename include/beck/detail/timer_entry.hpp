// SPDX-License-Identifier: BSL-1.0
// A wait for a point in time: embedded in the object that waits (a timer's wait, a scope with a
// deadline in a coroutine's frame), so that arming and disarming never allocate for it.
#pragma once

#include <cstdint>

namespace beck::detail {

class io_loop;

/// An entry of a loop's timer queue. It does not move while it is armed, and is disarmed before it
/// is destroyed. Thread: the runner of its loop.
struct timer_entry {
  /// Called once, after the entry was taken out of the queue, when its timer expires (or the loop
  /// is being destroyed). Runs no user code; may arm and disarm other entries, and arm this one for
  /// later.
  using function = void (*)(timer_entry& self, io_loop& loop, bool shutting_down) noexcept;
  static constexpr std::uint32_t unarmed = UINT32_MAX;

  /// Returns whether the entry is in a timer queue.
  bool is_armed() const noexcept { return place != unarmed; }

  std::int64_t deadline = 0;      ///< nanoseconds of the steady clock; INT64_MAX: never
  function expired = nullptr;     ///< set before it is armed
  std::uint32_t place = unarmed;  ///< its index in the queue
};

}  // namespace beck::detail
