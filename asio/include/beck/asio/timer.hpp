// SPDX-License-Identifier: BSL-1.0
// Timers whose clocks and points in time are those of std::chrono.
#pragma once

#include <chrono>
#include <thread>

#include <beck/asio/config.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>

BECK_ASIO_BEGIN

namespace chrono = std::chrono;

/// A timer of a std::chrono clock. Thread, cancellation: as beck::basic_waitable_timer.
template <class Clock, class Base>
class chrono_timer : public Base {
 public:
  /// The clock.
  using clock_type = Clock;
  /// A time of that clock.
  using duration = typename Clock::duration;
  /// A point in time of that clock.
  using time_point = typename Clock::time_point;

  using Base::Base;

  /// Returns the expiry.
  time_point expiry() const noexcept { return static_cast<time_point>(Base::expiry()); }
  /// Blocks the calling thread until the expiry. `ec` is never set.
  void wait(beck::error_code& ec) {
    wait();
    ec = beck::error_code();
  }
  /// Blocks the calling thread until the expiry.
  void wait() { std::this_thread::sleep_until(expiry()); }
};

using steady_timer = chrono_timer<std::chrono::steady_clock, beck::steady_timer>;
using system_timer = chrono_timer<std::chrono::system_clock, beck::system_timer>;

BECK_ASIO_END
