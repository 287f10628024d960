// SPDX-License-Identifier: BSL-1.0
// Waits for a date. The date may be set at any time and nothing tells a process, so the earliest
// wait is looked at again within a second; a single entry of the loop's steady timers does that for
// all of them.
#pragma once

#include <cstdint>

#include "io/loop/timer_queue.hpp"

namespace beck::detail {

class io_loop;

/// Deadlines are dates, in nanoseconds since 1970. Thread: the runner of `loop`.
class wall_timers {
 public:
  /// How long a change of the date may go unnoticed.
  static constexpr std::int64_t look_ns_max = 1'000'000'000;

  explicit wall_timers(io_loop& loop) noexcept : loop_(loop), look_(*this) {}

  /// Requires that it is not armed. False if there is no memory; nothing has changed then.
  bool add(timer_entry& entry) noexcept;
  /// Requires that it is armed.
  void remove(timer_entry& entry) noexcept;

 private:
  struct look_entry : timer_entry {
    explicit look_entry(wall_timers& whose) noexcept : owner(whose) {}
    wall_timers& owner;
  };

  static void look(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  /// `date` is now.
  bool arm_look(std::int64_t date) noexcept;

  io_loop& loop_;
  timer_queue waits_;
  look_entry look_;
};

}  // namespace beck::detail
