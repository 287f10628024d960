// SPDX-License-Identifier: BSL-1.0
// The timers of a loop: the waits of timer objects, on the steady and on the system clock, and the
// deadlines of descriptors. Nothing here is a system call, except for reading the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/io/timer_object.hpp>

#include "io/driver/loop_core.hpp"
#include "io/loop/timer_queue.hpp"
#include "run/block_watch.hpp"

namespace beck::detail {

class io_loop;
class timer_operation;

/// Owns the queues of timers, and the state of one destroyed timer for the next one. Thread: the
/// runner, but for vacant().
class loop_timers {
 public:
  loop_timers(io_loop& loop, loop_core& core, const any_io_executor& executor) noexcept
      : core_(core), loop_(loop), wall_(loop), vacant_(loop, executor, clock_kind::steady) {}
  loop_timers(const loop_timers&) = delete;
  loop_timers& operator=(const loop_timers&) = delete;

  // --- entries on the steady clock that are not operations; they are not outstanding work
  /// Adds `entry`. Requires that it is not armed. Returns false if there is no memory.
  bool add(timer_entry& entry) noexcept { return steady_.add(entry); }
  /// Removes `entry`. Requires that it is armed.
  void remove(timer_entry& entry) noexcept { steady_.remove(entry); }

  // --- waits of timer objects
  /// Starts a wait.
  void start(timer_operation& op) noexcept;
  /// Ends a wait with operation_aborted. Out of line: its callers need no registers for it.
  [[gnu::noinline]] void cancel(timer_operation& op) noexcept;
  /// Ends the oldest waits for `timer`, at most `most`, and returns their number. Requires that
  /// `most` is not 0.
  std::size_t cancel_waits(timer_state& timer, std::size_t most) noexcept {
    if (timer.first != timer.last) [[unlikely]]
      return cancel_several(timer, most);
    if (timer.first == nullptr) return 0;
    cancel(*timer.first);
    return 1;
  }

  // --- deadlines of descriptors
  /// Sets the time at which the operations in flight on `d` end with error::timeout;
  /// timer_queue::never removes the limit. Returns false if there is no memory.
  bool expire_at(descriptor& d, std::int64_t when) noexcept;

  // --- time
  /// Returns the earliest deadline; timer_queue::never if there is none.
  std::int64_t earliest() noexcept { return steady_.earliest(); }
  /// Ends the waits that are due at `now`. Takes one batch: a timer that a handler arms with a
  /// duration of zero expires in the next iteration, after the kernel was polled for I/O.
  void expire(std::int64_t now) noexcept;
  /// Ends all waits, with operation_aborted.
  void cancel_all() noexcept;

  // --- states of timer objects
  /// Returns the state of vacant timers, whose waits end with bad_descriptor.
  timer_state& vacant() noexcept { return vacant_; }
  /// Returns the state that keep_state() has kept, for a new timer whose waits complete on the
  /// loop's executor. Returns nullptr if there is none, or if the caller is not the runner.
  timer_state* take_state(clock_kind clock) noexcept {
    if (!core_.on_runner() || kept_ == nullptr || !recycles_blocks()) return nullptr;
    kept_->clock = clock;
    return kept_.release();
  }
  /// Keeps the state of a destroyed timer, which has no waits, for the next timer. Returns false if
  /// one is kept already, or if its executor is not the loop's.
  bool keep_state(timer_state& timer) noexcept {
    if (kept_ != nullptr || timer.executor.target() != &loop_ || !recycles_blocks()) return false;
    kept_.reset(&timer);
    return true;
  }
  bool has_kept_state() const noexcept { return kept_ != nullptr; }

 private:
  [[gnu::noinline]] void start_rarely(timer_operation& op) noexcept;
  [[gnu::noinline]] std::size_t cancel_several(timer_state& timer, std::size_t most) noexcept;
  /// Queues the completion of a wait, which the caller removes from its queue of timers.
  void finish(timer_operation& op, int result) noexcept;
  static void expire_wait(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  static void expire_descriptor(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;

  loop_core& core_;
  io_loop& loop_;
  timer_queue steady_;
  wall_timers wall_;
  timer_state vacant_;
  std::unique_ptr<timer_state> kept_;
};

}  // namespace beck::detail
