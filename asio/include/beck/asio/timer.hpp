// SPDX-License-Identifier: BSL-1.0
// Timers whose clocks and points in time are those of std::chrono, or of a program's own clock.
#pragma once

#include <chrono>
#include <thread>

#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>

BECK_ASIO_BEGIN

namespace chrono = std::chrono;

/// How long a timer of a clock waits before it asks the clock again. May be specialised, or another
/// class named as a timer's parameter.
template <class Clock>
struct wait_traits {
  /// Returns `left`, the time until the expiry.
  static typename Clock::duration to_wait_duration(const typename Clock::duration& left) {
    return left;
  }
  /// Returns the time until `expiry`.
  static typename Clock::duration to_wait_duration(const typename Clock::time_point& expiry) {
    const auto now = Clock::now();
    return expiry > now ? expiry - now : Clock::duration::zero();
  }
};

namespace facade {

/// A timer of the steady or the system clock: beck's, in the points in time of std::chrono.
template <class Clock, class Base>
class chrono_timer : public Base {
 public:
  using Base::Base;

  /// Returns the expiry.
  typename Clock::time_point expiry() const noexcept {
    return static_cast<typename Clock::time_point>(Base::expiry());
  }
  /// Blocks the calling thread until the expiry.
  void wait() { std::this_thread::sleep_until(expiry()); }
};

/// A timer of a clock that beck does not know: it waits on the steady clock, and then asks the
/// program's, until that has reached the expiry.
template <class Clock, class Traits>
class polling_timer {
 public:
  using executor_type = any_io_executor;

  template <class Where>
  explicit polling_timer(Where&& where) : timer_(static_cast<Where&&>(where)) {}
  template <class Where>
  polling_timer(Where&& where, const typename Clock::time_point& at)
      : timer_(static_cast<Where&&>(where)), expiry_(at) {}
  template <class Where>
  polling_timer(Where&& where, const typename Clock::duration& after)
      : polling_timer(static_cast<Where&&>(where), Clock::now() + after) {}

  any_io_executor get_executor() const noexcept { return timer_.get_executor(); }
  std::size_t cancel() { return timer_.cancel(); }
  std::size_t cancel_one() { return timer_.cancel_one(); }
  typename Clock::time_point expiry() const noexcept { return expiry_; }
  std::size_t expires_at(const typename Clock::time_point& at) {
    expiry_ = at;
    return cancel();
  }
  std::size_t expires_after(const typename Clock::duration& after) {
    return expires_at(Clock::now() + after);
  }

  /// Waits for the expiry. `token` takes (error_code).
  template <class Token = beck::deferred_t>
  auto async_wait(Token&& token = Token()) {
    return beck::async_compose<Token, void(error_code)>(steps{this, expiry_}, token,
                                                        timer_.get_executor());
  }
  /// Blocks the calling thread until the expiry.
  void wait() {
    while (Clock::now() < expiry_) std::this_thread::sleep_for(Traits::to_wait_duration(expiry_));
  }

 private:
  struct steps {
    polling_timer* timer;  // not used after an error: it may be gone then
    typename Clock::time_point expiry;
    bool has_waited = false;

    template <class Self>
    void operator()(Self& self, const error_code& ec = error_code()) {
      if (ec || (has_waited && !(Clock::now() < expiry))) return self.complete(ec);
      has_waited = true;
      timer->timer_.expires_after(
          std::chrono::ceil<std::chrono::nanoseconds>(Traits::to_wait_duration(expiry)));
      timer->timer_.async_wait(static_cast<Self&&>(self));
    }
  };

  beck::steady_timer timer_;
  typename Clock::time_point expiry_{};
};

template <class Clock, class Traits>
struct timer_of {
  using type = polling_timer<Clock, Traits>;
};
template <class Traits>
struct timer_of<std::chrono::steady_clock, Traits> {
  using type = chrono_timer<std::chrono::steady_clock, beck::steady_timer>;
};
template <class Traits>
struct timer_of<std::chrono::system_clock, Traits> {
  using type = chrono_timer<std::chrono::system_clock, beck::system_timer>;
};

}  // namespace facade

/// A timer of a clock. Thread, cancellation: as beck::basic_waitable_timer. The traits count for
/// clocks other than the steady and the system clock; the executor is any_io_executor, whatever the
/// parameter says. Timers of such other clocks have one wait at a time.
template <class Clock, class Traits = wait_traits<Clock>, class Executor = any_io_executor>
class basic_waitable_timer : public facade::timer_of<Clock, Traits>::type {
  using base = typename facade::timer_of<Clock, Traits>::type;

 public:
  /// The clock.
  using clock_type = Clock;
  /// A time of that clock.
  using duration = typename Clock::duration;
  /// A point in time of that clock.
  using time_point = typename Clock::time_point;
  /// The traits.
  using traits_type = Traits;

  using base::base;
  using base::wait;
  /// As wait(). `ec` is never set.
  void wait(beck::error_code& ec) {
    base::wait();
    ec = beck::error_code();
  }

#if defined(BECK_ASIO_OLD_NAMES)
  using base::cancel;
  using base::expires_at;
  /// As cancel(). `ec` is never set.
  std::size_t cancel(beck::error_code& ec) {
    ec = beck::error_code();
    return base::cancel();
  }
  /// As expiry().
  time_point expires_at() const { return base::expiry(); }
  /// As expires_after().
  std::size_t expires_from_now(const duration& after) { return base::expires_after(after); }
  /// Returns the time until the expiry.
  duration expires_from_now() const { return base::expiry() - Clock::now(); }
#endif
};

using steady_timer = basic_waitable_timer<std::chrono::steady_clock>;
using system_timer = basic_waitable_timer<std::chrono::system_clock>;
using high_resolution_timer = basic_waitable_timer<std::chrono::high_resolution_clock>;

BECK_ASIO_END
