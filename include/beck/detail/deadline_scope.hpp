// SPDX-License-Identifier: BSL-1.0
// A scope that is stopped at a point in time, on the clock of the executor where its coroutine
// runs: what timeout() and its relations are made of.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/inner_scope.hpp>
#include <beck/detail/timer_entry.hpp>

namespace beck::detail {

/// Throws std::logic_error if the executor has no clock (only io_contexts and strands over them
/// have one).
void check_clock(const any_io_executor& executor);

/// An alarm on an executor's clock. Thread: who runs inside the executor.
class alarm : private timer_entry {
 public:
  using ring_function = void (*)(void* data, stop_walk& stops) noexcept;

  alarm() noexcept = default;
  ~alarm() { disarm(); }
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

  /// Calls `ring(data)` at `when`: inside the executor's turn, between two of its entries (in a
  /// shared context beside them, as an entry of its own); it does not disarm, and what it stops it
  /// tells through `stops`, which is carried out when nothing is locked any more.
  /// time_point::max() is never. Requires that it is not armed. Throws
  /// std::logic_error if the executor has no clock (only io_contexts and strands over them do),
  /// std::bad_alloc.
  void arm(const any_io_executor& executor, time_point when, ring_function ring, void* data);
  void arm(const any_io_executor& executor, duration after, ring_function ring, void* data);
  void disarm() noexcept;
  bool is_armed() const noexcept { return timer_entry::is_armed() || courier_ != nullptr; }

 private:
  class courier;

  static void ring_now(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;

  const any_io_executor* executor_ = nullptr;
  ring_function ring_ = nullptr;
  void* data_ = nullptr;
  courier* courier_ = nullptr;
};

/// Stopped with the outer scope, or by the clock.
class deadline_scope : public inner_scope {
 public:
  /// `why` is what the end by time looks like to what is awaited inside.
  deadline_scope(scope& outer, stop_reason why) noexcept : inner_scope(outer), why_(why) {}

  /// Stops the scope at `when`, or `after` from now on. Throws what alarm::arm() throws.
  template <class When>
  void stop_at(When when) {
    if (!stop_requested()) alarm_.arm(executor(), when, &ring, this);
  }

 private:
  static void ring(void* self, stop_walk& stops) noexcept;

  alarm alarm_;
  stop_reason why_;
};

}  // namespace beck::detail
