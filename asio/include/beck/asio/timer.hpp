// SPDX-License-Identifier: BSL-1.0
// Timers whose clocks and points in time are those of std::chrono, or of a program's own clock.
#pragma once

#include <chrono>
#include <type_traits>

#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>
#include <beck/detail/executor_with_token.hpp>
#include <beck/interop/basic_waitable_timer.hpp>

BECK_ASIO_BEGIN

namespace chrono = std::chrono;

/// Converts a time of a clock to the duration after which a timer reads the clock again. May be
/// specialised; a timer's parameter can name another class.
template <class Clock>
struct wait_traits : beck::wait_traits<Clock> {
  using primary = wait_traits;
};

namespace facade {

/// The traits for beck's timer. For the clocks of std::chrono the unspecialised ones are beck's,
/// with which its timer does not poll the clock.
template <class Clock, class Traits>
using timer_traits =
    std::conditional_t<!specialised<Traits> && (std::is_same_v<Clock, std::chrono::steady_clock> ||
                                                std::is_same_v<Clock, std::chrono::system_clock>),
                       beck::wait_traits<Clock>, Traits>;

}  // namespace facade

/// beck::basic_waitable_timer with the traits of this namespace.
template <class Clock, class Traits = wait_traits<Clock>, class Executor = any_io_executor>
class basic_waitable_timer
    : public beck::basic_waitable_timer<Clock, facade::timer_traits<Clock, Traits>, Executor> {
  using base = beck::basic_waitable_timer<Clock, facade::timer_traits<Clock, Traits>, Executor>;

 public:
  /// The traits.
  using traits_type = Traits;
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = basic_waitable_timer<Clock, Traits, Other>;
  };

  using base::base;

#if defined(BECK_ASIO_OLD_NAMES)
  using base::cancel;
  using base::cancel_one;
  using base::expires_at;
  /// As cancel(). `ec` is never set.
  std::size_t cancel(beck::error_code& ec) {
    ec = beck::error_code();
    return base::cancel();
  }
  /// As cancel_one(). `ec` is never set.
  std::size_t cancel_one(beck::error_code& ec) {
    ec = beck::error_code();
    return base::cancel_one();
  }
  /// As expiry().
  typename base::time_point expires_at() const { return base::expiry(); }
  /// As expires_at(at). `ec` is never set.
  std::size_t expires_at(const typename base::time_point& at, beck::error_code& ec) {
    ec = beck::error_code();
    return base::expires_at(at);
  }
  /// As expires_after().
  std::size_t expires_from_now(const typename base::duration& after) {
    return base::expires_after(after);
  }
  /// As above. `ec` is never set.
  std::size_t expires_from_now(const typename base::duration& after, beck::error_code& ec) {
    ec = beck::error_code();
    return base::expires_after(after);
  }
  /// Returns the time until the expiry.
  typename base::duration expires_from_now() const { return base::expiry() - Clock::now(); }
#endif
};

using steady_timer = basic_waitable_timer<std::chrono::steady_clock>;
using system_timer = basic_waitable_timer<std::chrono::system_clock>;
using high_resolution_timer = basic_waitable_timer<std::chrono::high_resolution_clock>;

BECK_ASIO_END
