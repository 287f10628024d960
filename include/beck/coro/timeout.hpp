// SPDX-License-Identifier: BSL-1.0
// timeout and with_deadline: an operation or a task with a time limit. The limit is a scope in the
// frame of the coroutine that awaits: nothing is allocated, there is no timer object and nothing
// races. An operation that is ready at once never reads a clock.
#pragma once

#include <beck/coro/within.hpp>
#include <beck/detail/deadline_scope.hpp>
#include <beck/detail/functions.hpp>

namespace beck {

namespace detail {

/// When something has to end: so long after it was awaited, or at a point in time.
class time_limit {
 public:
  using scope_type = deadline_scope;

  time_limit(duration after, stop_reason why) noexcept : after_(after), why_(why) {}
  time_limit(time_point at, stop_reason why) noexcept : at_(at), why_(why), absolute_(true) {}

  void enter(deferred_init<deadline_scope>& place, scope& outer) const noexcept {
    place.emplace(outer, why_);
  }
  void set_on(deadline_scope& inner) const {
    if (absolute_) {
      inner.stop_at(at_);
    } else {
      inner.stop_at(after_);
    }
  }
  /// Returns the end of the limit, for operations without a scope.
  time_point from(time_point now) const noexcept { return absolute_ ? at_ : now + after_; }
  void arm(deadline_timer& clock, const any_io_executor& executor,
           deadline_timer::expiry_function on_expired, void* data) const {
    if (absolute_) {
      clock.arm(executor, at_, on_expired, data);
    } else {
      clock.arm(executor, after_, on_expired, data);
    }
  }

 private:
  union {
    duration after_;
    time_point at_;
  };
  stop_reason why_;
  bool absolute_ = false;
};

}  // namespace detail

namespace functions {

/// Ends an operation with error::timeout if it has not finished when `after` has passed since it
/// was awaited. The completion tells which: a result that is there by then is delivered, an
/// operation that was never attempted is attempted once (so timeout(read, 0) can read), and a
/// composed one returns how much was done. A stop from outside still ends it with
/// operation_aborted. A task is ended with everything that it awaits; it returns io_result<T>.
/// Thread: the coroutine runs on an io_context or a strand over one; otherwise std::logic_error.
template <detail::scoped_awaitable A>
auto timeout(A awaitable, duration after) {
  return detail::within(detail::time_limit(after, detail::stop_reason::deadline),
                        static_cast<A&&>(awaitable));
}

/// Ends an operation with error::timeout if it has not finished at the point in time `at`; else as
/// timeout().
template <detail::scoped_awaitable A>
auto with_deadline(time_point at, A awaitable) {
  return detail::within(detail::time_limit(at, detail::stop_reason::deadline),
                        static_cast<A&&>(awaitable));
}

}  // namespace functions

}  // namespace beck
