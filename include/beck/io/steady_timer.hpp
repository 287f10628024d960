// SPDX-License-Identifier: BSL-1.0
// steady_timer: waits on the steady clock (virtual inside a simulation). Timers cost no system
// call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/duration.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/launch.hpp>
#include <beck/run/timer_entry.hpp>

namespace beck {

struct timer_state;

/// A wait for a point in time; starts when awaited or given a token.
class [[nodiscard]] timer_operation : public void_operation, public timer_entry {
 public:
  timer_operation(timer_state* owner, std::int64_t when) noexcept
      : void_operation(op_kind::wait_timer, nullptr, nullptr, 0) {
    timer = owner;
    deadline = when;
  }
  /// A wait whose point in time has come is no reason to continue without suspension: one batch a
  /// turn.
  bool await_ready() const noexcept { return false; }

  template <class Token>
  auto operator()(Token&& token) && {
    return launch(static_cast<timer_operation&&>(*this), static_cast<Token&&>(token));
  }

  timer_operation* sibling_next = nullptr;  ///< waits of the same timer
  timer_operation* sibling_previous = nullptr;
};

/// A timer in Asio's style: set an expiry, then wait for it, any number of times.
/// Thread: one object from one thread at a time; waits may be started and cancelled off the runner.
/// Cancellation: cancel(), a new expiry or destruction ends waits with operation_aborted; a wait
/// that has expired already is delivered as expired. Guaranteed: never early. Not guaranteed: how
/// late; equal expiries come in the order of their waits.
class steady_timer {
 public:
  using executor_type = any_io_executor;
  using duration = beck::duration;
  using time_point = beck::time_point;

  explicit steady_timer(io_context& context);
  steady_timer(io_context& context, beck::duration after);
  steady_timer(io_context& context, beck::time_point at);
  /// Requires an executor whose context is an io_context; throws io_error (invalid_argument) else.
  explicit steady_timer(const any_io_executor& executor);
  steady_timer(const any_io_executor& executor, beck::duration after);
  steady_timer(const any_io_executor& executor, beck::time_point at);
  steady_timer(steady_timer&& other) noexcept;
  steady_timer& operator=(steady_timer&& other) noexcept;
  ~steady_timer();

  any_io_executor get_executor() const noexcept;

  /// Huge durations saturate to "never"; negative ones have expired. Cancels what waits; gives how
  /// many waits that were (0 if the context is being run by another thread: they are cancelled
  /// there).
  std::size_t expires_after(beck::duration after);
  std::size_t expires_at(beck::time_point at);
  beck::time_point expiry() const noexcept;

  std::size_t cancel();
  /// Cancels the oldest wait only.
  std::size_t cancel_one();

  timer_operation async_wait() noexcept;
  template <class Token>
  auto async_wait(Token&& token) {
    return launch(async_wait(), static_cast<Token&&>(token));
  }

 private:
  timer_state* state_;
  std::int64_t expiry_ = 0;
};

/// The time that the steady clock of the current context shows: virtual in a simulation. Outside of
/// every run(): the system's.
time_point steady_now() noexcept;

}  // namespace beck
