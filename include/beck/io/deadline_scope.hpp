// SPDX-License-Identifier: BSL-1.0
// A scope that is stopped at a point in time: what timeout() and its relations are made of.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/run/inner_scope.hpp>
#include <beck/run/timer_entry.hpp>

namespace beck {

/// Stopped with the outer scope, or by the clock.
/// Thread: the runner of the context on which the coroutine runs.
class deadline_scope : public inner_scope, private timer_entry {
 public:
  /// `why` is what the end by time looks like to what is awaited inside.
  deadline_scope(scope& outer, stop_reason why) noexcept : inner_scope(outer), why_(why) {}
  ~deadline_scope();

  /// Stops the scope at `when`. Throws std::logic_error outside of every io_context (a deadline
  /// needs its clock), std::bad_alloc.
  void stop_at(time_point when);
  void stop_after(duration after);

 private:
  static void expire(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  void arm(io_loop& loop, time_point when);

  io_loop* loop_ = nullptr;
  stop_reason why_;
};

}  // namespace beck
