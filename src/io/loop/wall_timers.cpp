// SPDX-License-Identifier: BSL-1.0
// Looking at the date: when the earliest wait is due, if nobody sets the clock, and within a
// second.
#include "io/loop/wall_timers.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>
#include <beck/base/duration.hpp>

#include "io/loop/io_loop.hpp"

namespace beck::detail {

bool wall_timers::add(timer_entry& entry) noexcept {
  const std::int64_t earliest = waits_.earliest();
  if (!waits_.add(entry)) return false;
  if (look_.is_armed() && earliest <= entry.deadline) return true;
  if (arm_look(loop_.sys().wall_now())) return true;
  waits_.remove(entry);
  return false;
}

void wall_timers::remove(timer_entry& entry) noexcept {
  waits_.remove(entry);
  if (waits_.empty() && look_.is_armed()) loop_.timers().remove(look_);
}

bool wall_timers::arm_look(std::int64_t date) noexcept {
  if (look_.is_armed()) loop_.timers().remove(look_);
  const std::int64_t earliest = waits_.earliest();
  std::int64_t wait = 0;
  if (earliest > date) {
    wait = std::min<std::int64_t>((duration(earliest) - duration(date)).nanoseconds(), look_ns_max);
  }
  // Never is never, whatever the date.
  look_.deadline = earliest == timer_queue::never
                       ? timer_queue::never
                       : (duration(loop_.sys().now()) + duration(wait)).nanoseconds();
  look_.expired = &look;
  return loop_.timers().add(look_);
}

void wall_timers::look(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept {
  wall_timers& self = static_cast<look_entry&>(entry).owner;
  const std::int64_t date = shutting_down ? timer_queue::never : loop.sys().wall_now();
  while (timer_entry* due = self.waits_.take_expired(date)) {
    due->expired(*due, loop, shutting_down);
  }
  if (self.waits_.empty()) return;
  // Its place in the steady timers has only just become free.
  const bool armed = self.arm_look(date);
  BECK_ASSERT(armed, "no place for the next look at the date");
}

}  // namespace beck::detail
