// SPDX-License-Identifier: BSL-1.0
// basic_waitable_timer in Asio's form: a timer of a clock of <chrono> or of the program's own, with
// the clock's points in time, and with a blocking wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/run/default_completion_token.hpp>
#include <beck/run/op.hpp>

namespace beck {

/// How long a timer waits before it looks at its clock again. The default is for clocks that run as
/// fast as the steady clock; a program may specialise it, or name another class as the timer's
/// WaitTraits, for a clock that is slower, faster or set by hand.
template <class Clock>
struct wait_traits {
  /// Returns the time to wait for a duration of the clock: the same.
  static typename Clock::duration to_wait_duration(const typename Clock::duration& d) { return d; }
  /// Returns the time until the clock shows `t`, saturating.
  static typename Clock::duration to_wait_duration(const typename Clock::time_point& t) {
    using span = typename Clock::duration;
    const span then = t.time_since_epoch();
    const span now = Clock::now().time_since_epoch();
    if (now < span::zero() && then > span::max() + now) return span::max();
    if (now > span::zero() && then < span::min() + now) return span::min();
    return then - now;
  }
};

namespace detail {

/// The state that a timer of a program's clock shares with its waits, which may outlive it.
class clock_timer_state {
 public:
  explicit clock_timer_state(const any_io_executor& executor) : timer_(executor) {}

  /// Returns a wait of the steady clock, which cancel() ends.
  timer_operation async_wait_for(beck::duration after) noexcept {
    return timer_.async_wait_for(after);
  }
  any_io_executor get_executor() const noexcept { return timer_.get_executor(); }

  std::size_t cancel() {
    // Release, for the acquire of cancels(): a step that sees the number ends its wait.
    cancels_.fetch_add(1, std::memory_order_release);
    return timer_.cancel();
  }
  std::size_t cancel_one() { return timer_.cancel_one(); }
  /// Returns the number of calls of cancel().
  unsigned cancels() const noexcept { return cancels_.load(std::memory_order_acquire); }

 private:
  class step_timer : public steady_timer {
   public:
    using steady_timer::steady_timer;
    timer_operation async_wait_for(beck::duration after) noexcept { return this->wait_for(after); }
  };

  step_timer timer_;
  std::atomic<unsigned> cancels_ = 0;
};

namespace functions {

/// Returns the time to wait before the clock is looked at again. Saturates, whatever the unit is.
template <class WaitTraits, class TimePoint>
beck::duration time_to_wait(const TimePoint& expiry) {
  return beck::duration(WaitTraits::to_wait_duration(expiry));
}

/// Blocks the calling thread until the clock shows `expiry`: sleeps again while a clock that is
/// slow, or was set back, shows an earlier time.
template <class Clock, class WaitTraits>
void block_until(const typename Clock::time_point& expiry) {
  while (Clock::now() < expiry) {
    const beck::duration left = detail::time_to_wait<WaitTraits>(expiry);
    std::this_thread::sleep_for(std::chrono::nanoseconds(left.nanoseconds()));
  }
}

}  // namespace functions

/// A wait until a clock shows a point in time: waits of the steady clock, as many as it takes.
template <class Clock, class WaitTraits>
class [[nodiscard]] clock_wait : public op<clock_wait<Clock, WaitTraits>, void(error_code)> {
 public:
  using handler = typename op<clock_wait, void(error_code)>::handler;
  using time_point = typename Clock::time_point;
  static constexpr const char* waits_for = "wait";

  clock_wait(std::shared_ptr<clock_timer_state> state, const time_point& expiry)
      : state_(static_cast<std::shared_ptr<clock_timer_state>&&>(state)), expiry_(expiry) {}

  any_io_executor get_executor() const noexcept { return state_->get_executor(); }
  void initiate(handler done) {
    cancels_ = state_->cancels();
    go_on(static_cast<handler&&>(done));
  }

 private:
  /// The handler of one wait of the steady clock.
  class step {
   public:
    using executor_type = any_io_executor;
    step(clock_wait& self, handler&& done) noexcept
        : self_(&self), done_(static_cast<handler&&>(done)) {}

    executor_type get_executor() const noexcept { return done_.get_executor(); }
    cancellation_slot get_cancellation_slot() const noexcept {
      return done_.get_cancellation_slot();
    }
    void operator()(const error_code& ec) { self_->look(ec, static_cast<handler&&>(done_)); }

   private:
    clock_wait* self_;
    handler done_;
  };

  void go_on(handler done) {
    const beck::duration left = detail::time_to_wait<WaitTraits>(expiry_);
    state_->async_wait_for(left)(step(*this, static_cast<handler&&>(done)));
  }
  void look(error_code ec, handler done) {
    // The timer was cancelled or destroyed while this step was in the queue.
    const bool has_come = Clock::now() >= expiry_;
    if (!ec && !has_come && state_->cancels() != cancels_) ec = error::operation_aborted;
    if (ec || has_come) return done(ec);
    go_on(static_cast<handler&&>(done));
  }

  std::shared_ptr<clock_timer_state> state_;
  time_point expiry_;
  unsigned cancels_ = 0;
};

/// The timer of this library for a clock of <chrono>.
template <class Clock>
struct timer_of;
template <>
struct timer_of<std::chrono::steady_clock> {
  using type = steady_timer;
};
template <>
struct timer_of<std::chrono::system_clock> {
  using type = system_timer;
};
template <class Clock>
concept clock_with_timer = requires { typename timer_of<Clock>::type; };

/// A timer of this library with the points in time of std::chrono.
template <class Clock, class Timer, class Executor>
class chrono_timer : public Timer {
 public:
  using executor_type = Executor;
  using clock_type = Clock;
  using duration = typename Clock::duration;
  using time_point = typename Clock::time_point;
  using traits_type = wait_traits<Clock>;

  using Timer::Timer;
  /// Moves a timer, with its waits.
  chrono_timer(Timer&& other) noexcept : Timer(static_cast<Timer&&>(other)) {}

  executor_type get_executor() const noexcept { return executor_type(Timer::get_executor()); }
  time_point expiry() const noexcept { return static_cast<time_point>(Timer::expiry()); }
  using Timer::expires_after;
  /// As the timer's, for arguments that only convert to a time of the clock, such as a std::atomic.
  template <class T>
    requires(!std::is_convertible_v<const T&, beck::duration> &&
             std::is_convertible_v<const T&, duration>)
  std::size_t expires_after(const T& after) {
    return Timer::expires_after(static_cast<duration>(after));
  }

  error_code wait(error_code& ec) {
    wait();
    ec = error_code();
    return ec;
  }
  void wait() { detail::block_until<Clock, traits_type>(expiry()); }

  template <class Token = default_completion_token_t<Executor>>
  auto async_wait(Token&& token = Token()) {
    return detail::launch(Timer::async_wait(), static_cast<Token&&>(token));
  }
};

}  // namespace detail

/// A timer of any clock, in Asio's form: `Clock` has now(), duration and time_point, as those of
/// <chrono>. With std::chrono::steady_clock and system_clock it is steady_timer and system_timer of
/// this library, with points in time of those clocks; with another clock it waits on the steady
/// clock as long as WaitTraits says, and again until its own clock shows the expiry. A timer that
/// was never set has expired at the clock's epoch.
/// Requires: Executor is any_io_executor, or that with a default token (interop/default_token.hpp).
/// Thread, cancellation: as basic_timer. Simulated: steady_clock and system_clock are virtual there
/// for asynchronous waits, a clock of the program is what it makes of it; wait() is for threads
/// outside of simulations. Memory: a block for each timer of a program's clock.
template <class Clock, class WaitTraits = wait_traits<Clock>, class Executor = any_io_executor>
class basic_waitable_timer {
 public:
  /// The type of the executor.
  using executor_type = Executor;
  /// The clock.
  using clock_type = Clock;
  /// A time of the clock.
  using duration = typename Clock::duration;
  /// A point in time of the clock.
  using time_point = typename Clock::time_point;
  /// How long the timer waits before it looks at the clock.
  using traits_type = WaitTraits;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = basic_waitable_timer<Clock, WaitTraits, Other>;
  };

  /// Makes a timer without an expiry, which counts as expired. Throws std::bad_alloc.
  explicit basic_waitable_timer(io_context& context)
      : basic_waitable_timer(Executor(any_io_executor(context.get_executor()))) {}
  /// Makes a timer that expires at `at`.
  basic_waitable_timer(io_context& context, const time_point& at) : basic_waitable_timer(context) {
    expiry_ = at;
  }
  /// Makes a timer that expires `after` from now.
  basic_waitable_timer(io_context& context, const duration& after)
      : basic_waitable_timer(context, from_now(after)) {}
  /// Makes a timer whose waits complete on `executor`. Throws io_error (invalid_argument) unless
  /// the context of `executor` is an io_context. So do the following two.
  explicit basic_waitable_timer(const Executor& executor)
      : executor_(executor), state_(make_state()) {}
  /// Makes a timer on `executor` that expires at `at`.
  basic_waitable_timer(const Executor& executor, const time_point& at)
      : basic_waitable_timer(executor) {
    expiry_ = at;
  }
  /// Makes a timer on `executor` that expires `after` from now.
  basic_waitable_timer(const Executor& executor, const duration& after)
      : basic_waitable_timer(executor, from_now(after)) {}
  /// Takes over the waits and the expiry of `other`, which remains usable.
  basic_waitable_timer(basic_waitable_timer&& other) noexcept
      // NOLINTNEXTLINE(performance-move-constructor-init): the other one keeps its executor
      : executor_(other.executor_),
        state_(static_cast<state_pointer&&>(other.state_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  /// As above, from a timer with another executor type.
  template <class Other>
  basic_waitable_timer(basic_waitable_timer<Clock, WaitTraits, Other>&& other) noexcept
      : executor_(other.executor_),
        state_(static_cast<state_pointer&&>(other.state_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  /// Cancels its own waits, and takes over those of `other`.
  basic_waitable_timer& operator=(basic_waitable_timer&& other) noexcept {
    if (&other == this) return *this;
    end();
    executor_ = other.executor_;
    state_ = static_cast<state_pointer&&>(other.state_);
    expiry_ = std::exchange(other.expiry_, time_point());
    return *this;
  }
  /// Ends all waits with operation_aborted.
  ~basic_waitable_timer() { end(); }

  /// Returns the executor that waits complete on.
  executor_type get_executor() const noexcept { return executor_type(executor_); }

  /// Ends all waits with operation_aborted. Returns their number, without those that are about to
  /// look at the clock again; 0 if another thread runs the context. May throw std::bad_alloc then.
  std::size_t cancel() { return state_ ? state_->cancel() : 0; }
  /// As cancel(), for the oldest wait only.
  std::size_t cancel_one() { return state_ ? state_->cancel_one() : 0; }
  /// Sets the expiry and cancels all waits. Returns their number, as cancel().
  std::size_t expires_at(const time_point& at) {
    expiry_ = at;
    return cancel();
  }
  /// Sets the expiry to `after` from now, saturating, and cancels all waits. Returns as cancel().
  std::size_t expires_after(const duration& after) { return expires_at(from_now(after)); }
  /// Returns the expiry.
  time_point expiry() const noexcept { return expiry_; }

  /// Blocks the calling thread until the expiry; neither cancel() nor a signal ends the wait. It
  /// looks at the clock again whenever the time that WaitTraits names has passed: if the clock is
  /// set forward meanwhile it returns late, and if it is set back it sleeps again. `ec` is never
  /// set.
  error_code wait(error_code& ec) {
    wait();
    ec = error_code();
    return ec;
  }
  /// As above.
  void wait() { detail::block_until<Clock, WaitTraits>(expiry_); }
  /// Waits for the expiry that is set now. `token` takes (error_code). Throws std::bad_alloc.
  template <class Token = default_completion_token_t<Executor>>
  auto async_wait(Token&& token = Token()) {
    if (!state_) state_ = make_state();  // the object was moved from
    return detail::launch(detail::clock_wait<Clock, WaitTraits>(state_, expiry_),
                          static_cast<Token&&>(token));
  }

 private:
  template <class, class, class>
  friend class basic_waitable_timer;
  using state_pointer = std::shared_ptr<detail::clock_timer_state>;

  static time_point from_now(const duration& after) {
    const time_point now = Clock::now();
    const duration since = now.time_since_epoch();
    if (after > duration::zero() && since > duration::max() - after) return time_point::max();
    if (after < duration::zero() && since < duration::min() - after) return time_point::min();
    return now + after;
  }
  state_pointer make_state() const {
    return std::make_shared<detail::clock_timer_state>(any_io_executor(executor_));
  }
  void end() noexcept {
    if (!state_) return;
    try {
      state_->cancel();
    } catch (const std::bad_alloc&) {
      // The waits have the state still, and end when they look at the clock again.
    }
  }

  any_io_executor executor_;
  state_pointer state_;
  time_point expiry_{};
};

/// A timer of std::chrono::steady_clock or std::chrono::system_clock.
template <detail::clock_with_timer Clock, class Executor>
class basic_waitable_timer<Clock, wait_traits<Clock>, Executor>
    : public detail::chrono_timer<Clock, typename detail::timer_of<Clock>::type, Executor> {
  using base = typename basic_waitable_timer::chrono_timer;

 public:
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = basic_waitable_timer<Clock, wait_traits<Clock>, Other>;
  };
  using base::base;
};

}  // namespace beck
