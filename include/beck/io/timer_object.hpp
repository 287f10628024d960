// SPDX-License-Identifier: BSL-1.0
// What timers of every clock share: the object with its expiry, and the operation that waits for
// it. Timers cost no system call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/duration.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/timer_entry.hpp>
#include <beck/detail/unfused.hpp>
#include <beck/io/io_context.hpp>

namespace beck {

namespace detail {
struct timer_state;

/// A wait for a point in time; starts when awaited or given a token.
class [[nodiscard]] timer_operation : public begun_by<timer_operation, void_operation>,
                                      public timer_entry {
 public:
  timer_operation(timer_state* owner, std::int64_t when) noexcept
      : begun_by(op_kind::wait_timer, nullptr, nullptr, 0) {
    timer = owner;
    deadline = when;
  }
  /// Moves an inert one: only what it asks for (see detail/unfused.hpp).
  timer_operation(timer_operation&& other) noexcept : begun_by(static_cast<begun_by&&>(other)) {
    deadline = unfused(other.deadline);
  }

  /// A wait whose point in time has come is no reason to continue without suspension: one batch a
  /// turn.
  bool await_ready() const noexcept { return false; }

  void begin() noexcept;

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<timer_operation&&>(*this), static_cast<Token&&>(token));
  }

  timer_operation* sibling_next;  ///< waits of the same timer, while it is in flight
  timer_operation* sibling_previous;
};

/// The base of timers. Public functions are those of every timer: see basic_waitable_timer.
class timer_object {
 public:
  using executor_type = any_io_executor;
  using duration = beck::duration;

  any_io_executor get_executor() const noexcept;

  /// Ends all waits with operation_aborted; gives how many that were (0 if the context is being run
  /// by another thread: they are cancelled there).
  std::size_t cancel();
  /// Cancels the oldest wait only.
  std::size_t cancel_one();

  timer_operation async_wait() noexcept { return timer_operation(state_, expiry_); }
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }

 protected:
  timer_object(io_context& context, clock_kind clock);
  timer_object(const any_io_executor& executor, clock_kind clock);
  timer_object(timer_object&& other) noexcept;
  timer_object& operator=(timer_object&& other) noexcept;
  ~timer_object();

  std::int64_t expiry_ns() const noexcept { return expiry_; }
  /// For constructors.
  void set_expiry(std::int64_t at) noexcept { expiry_ = at; }
  void set_expiry_after(beck::duration after) noexcept;
  /// A new expiry; gives what cancel() gives.
  std::size_t expire_at(std::int64_t at);
  std::size_t expire_after(beck::duration after);

 private:
  timer_state* state_;
  std::int64_t expiry_ = 0;
};

}  // namespace detail

/// A timer in Asio's style: set an expiry, then wait for it, any number of times. A timer that was
/// never set has expired.
/// Thread: one object from one thread at a time; waits may be started and cancelled off the runner.
/// Cancellation: cancel(), a new expiry or destruction ends waits with operation_aborted; a wait
/// that has expired already is delivered as expired. Guaranteed: never early. Not guaranteed: how
/// late; equal expiries come in the order of their waits.
template <detail::clock_kind Clock>
class basic_waitable_timer : public detail::timer_object {
 public:
  using time_point = detail::basic_time_point<Clock>;

  explicit basic_waitable_timer(io_context& context) : detail::timer_object(context, Clock) {}
  basic_waitable_timer(io_context& context, beck::duration after)
      : detail::timer_object(context, Clock) {
    set_expiry_after(after);
  }
  basic_waitable_timer(io_context& context, time_point at) : detail::timer_object(context, Clock) {
    set_expiry(at.nanoseconds());
  }
  /// Requires an executor whose context is an io_context; throws io_error (invalid_argument) else.
  explicit basic_waitable_timer(const any_io_executor& executor)
      : detail::timer_object(executor, Clock) {}
  basic_waitable_timer(const any_io_executor& executor, beck::duration after)
      : detail::timer_object(executor, Clock) {
    set_expiry_after(after);
  }
  basic_waitable_timer(const any_io_executor& executor, time_point at)
      : detail::timer_object(executor, Clock) {
    set_expiry(at.nanoseconds());
  }

  /// Huge durations saturate to "never"; negative ones have expired. Cancels what waits; gives how
  /// many waits that were, as cancel() does.
  std::size_t expires_after(beck::duration after) { return expire_after(after); }
  std::size_t expires_at(time_point at) { return expire_at(at.nanoseconds()); }
  time_point expiry() const noexcept { return time_point(beck::duration(expiry_ns())); }
};

}  // namespace beck
