// SPDX-License-Identifier: BSL-1.0
// The part that timers of every clock share: the object with its expiry, and the operation that
// waits for it. Timers cost no system call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/duration.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/opaque_value.hpp>
#include <beck/detail/timer_entry.hpp>
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
  /// Moves an inert one: only what it asks for (see detail/opaque_value.hpp).
  timer_operation(timer_operation&& other) noexcept : begun_by(static_cast<begun_by&&>(other)) {
    deadline = opaque_value(other.deadline);
  }

  /// A wait whose point in time has come is no reason to continue without suspension: one batch a
  /// turn.
  bool await_ready() const noexcept { return false; }

  void begin() noexcept;

  /// Returns the result. Most waits are cancelled, so this is no rare failure for them.
  io_result<> await_resume() const noexcept {
    if (result == cancelled_result) return result_error(error::operation_aborted, "wait");
    return void_operation::await_resume();
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<timer_operation&&>(*this), static_cast<Token&&>(token));
  }

  timer_operation* sibling_next;  ///< waits of the same timer, while it is in flight
  timer_operation* sibling_previous;
};

/// The base of timers. Public functions are those of every timer: see basic_timer.
class timer_object {
 public:
  using executor_type = any_io_executor;
  using duration = beck::duration;

  /// Returns the executor that waits complete on.
  any_io_executor get_executor() const noexcept;

  /// Ends all waits with operation_aborted. Returns their number, or 0 if another thread runs the
  /// context: then that thread cancels them. May throw std::bad_alloc in that case.
  std::size_t cancel();
  /// As cancel(), for the oldest wait only.
  std::size_t cancel_one();

  /// Starts a wait for the expiry that is set now. Completes with (error_code).
  timer_operation async_wait() noexcept { return timer_operation(state_, expiry_); }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }

 protected:
  timer_object(io_context& context, clock_kind clock);
  timer_object(io_context& context, clock_kind clock, beck::duration after);
  timer_object(const any_io_executor& executor, clock_kind clock);
  timer_object(const any_io_executor& executor, clock_kind clock, beck::duration after);
  timer_object(timer_object&& other) noexcept;
  timer_object& operator=(timer_object&& other) noexcept;
  ~timer_object();

  std::int64_t expiry_ns() const noexcept { return expiry_; }
  /// For constructors.
  void set_expiry(std::int64_t at) noexcept { expiry_ = at; }
  /// Sets a new expiry. Returns as cancel().
  std::size_t expire_at(std::int64_t at);
  std::size_t expire_after(beck::duration after);
  /// Returns a wait that ends `after` from now, whatever the expiry is.
  timer_operation wait_for(beck::duration after) noexcept;

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
/// late; equal expiries complete in the order of their waits.
template <detail::clock_kind Clock>
class basic_timer : public detail::timer_object {
 public:
  /// A point in time of the timer's clock; std::chrono's convert to it.
  using time_point = detail::basic_time_point<Clock>;
  /// The same type with a default token (interop/default_token.hpp).
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = detail::rebound<basic_timer, Other>;
  };

  /// Makes a timer without an expiry, which counts as expired.
  explicit basic_timer(io_context& context) : detail::timer_object(context, Clock) {}
  /// Makes a timer that expires `after` from now.
  basic_timer(io_context& context, beck::duration after)
      : detail::timer_object(context, Clock, after) {}
  /// Makes a timer that expires at `at`.
  basic_timer(io_context& context, time_point at) : detail::timer_object(context, Clock) {
    set_expiry(at.nanoseconds());
  }
  /// Makes a timer whose waits complete on `executor`. Throws io_error (invalid_argument) unless
  /// the context of `executor` is an io_context. So do the following two.
  explicit basic_timer(const any_io_executor& executor) : detail::timer_object(executor, Clock) {}
  /// Makes a timer on `executor` that expires `after` from now.
  basic_timer(const any_io_executor& executor, beck::duration after)
      : detail::timer_object(executor, Clock, after) {}
  /// Makes a timer on `executor` that expires at `at`.
  basic_timer(const any_io_executor& executor, time_point at)
      : detail::timer_object(executor, Clock) {
    set_expiry(at.nanoseconds());
  }

  /// Sets the expiry to `after` from now and cancels all waits. Returns their number, as cancel().
  /// Huge durations saturate to "never"; negative ones have expired.
  std::size_t expires_after(beck::duration after) { return expire_after(after); }
  /// Sets the expiry and cancels all waits. Returns their number, as cancel().
  std::size_t expires_at(time_point at) { return expire_at(at.nanoseconds()); }
  /// Returns the expiry.
  time_point expiry() const noexcept { return time_point(beck::duration(expiry_ns())); }
};

}  // namespace beck
