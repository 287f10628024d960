// SPDX-License-Identifier: BSL-1.0
// A scope that is stopped at a point in time, on the clock of the executor where its coroutine
// runs. timeout() and related functions are built on it.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/inner_scope.hpp>
#include <beck/detail/timer_entry.hpp>

namespace beck::detail {

/// Throws std::logic_error if the executor has no clock (only io_contexts and strands over them
/// have one).
void check_clock(const any_io_executor& executor);

/// A timer on an executor's clock. Thread: every function is called from inside the executor.
class deadline_timer : private timer_entry {
 public:
  using expiry_function = void (*)(void* data, stop_walk& stops) noexcept;

  deadline_timer() noexcept = default;
  ~deadline_timer() { disarm(); }
  deadline_timer(const deadline_timer&) = delete;
  deadline_timer& operator=(const deadline_timer&) = delete;

  /// Calls `on_expired(data)` at `when`, inside the executor's poll between two of its entries (in
  /// a shared context beside them, as an entry of its own). `on_expired` must not disarm the timer,
  /// and stops scopes only through `stops`, which is carried out when no lock is held any more.
  /// time_point::max() means never. Requires that the timer is not armed. Throws std::logic_error
  /// if the executor has no clock (only io_contexts and strands over them have one),
  /// std::bad_alloc.
  void arm(const any_io_executor& executor, time_point when, expiry_function on_expired,
           void* data);
  /// Calls `on_expired(data)` when the time `after` has passed; everything else as the function
  /// above.
  void arm(const any_io_executor& executor, duration after, expiry_function on_expired, void* data);
  /// Cancels the call. Does nothing if the timer is not armed.
  void disarm() noexcept;
  /// Returns whether the timer is armed.
  bool is_armed() const noexcept { return timer_entry::is_armed() || message_ != nullptr; }

 private:
  class expiry_message;

  static void expire(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;

  const any_io_executor* executor_ = nullptr;
  expiry_function on_expired_ = nullptr;
  void* data_ = nullptr;
  expiry_message* message_ = nullptr;
};

/// A scope that is stopped with the outer scope, or by the clock.
class deadline_scope : public inner_scope {
 public:
  /// Makes the scope, without a deadline. `why`: the stop reason that operations inside see when
  /// the deadline expires.
  deadline_scope(scope& outer, stop_reason why) noexcept : inner_scope(outer), why_(why) {}

  /// Stops the scope at `when`, or `after` from now on. Throws as deadline_timer::arm().
  template <class When>
  void stop_at(When when) {
    if (!stop_requested()) timer_.arm(executor(), when, &on_expired, this);
  }

 private:
  static void on_expired(void* self, stop_walk& stops) noexcept;

  deadline_timer timer_;
  stop_reason why_;
};

}  // namespace beck::detail
