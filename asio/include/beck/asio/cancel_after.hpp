// SPDX-License-Identifier: BSL-1.0
// Tokens with a time limit, and Asio's forms with a timer of the caller.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/timer.hpp>
#include <beck/io/cancel_after.hpp>

BECK_ASIO_BEGIN

using beck::cancel_after;
using beck::cancel_after_t;
using beck::cancel_at;

/// As beck::cancel_after(). The timer, in which Asio waits, is left alone.
template <class Clock, class Traits, class Executor, class Rep, class Period, class... More>
auto cancel_after(basic_waitable_timer<Clock, Traits, Executor>&,
                  const std::chrono::duration<Rep, Period>& after, More&&... more) {
  return beck::cancel_after(after, static_cast<More&&>(more)...);
}
/// As beck::cancel_at(), with a point in time of the timer's clock, which is read once. The timer,
/// in which Asio waits, is left alone.
template <class Clock, class Traits, class Executor, class... More>
auto cancel_at(basic_waitable_timer<Clock, Traits, Executor>&, const typename Clock::time_point& at,
               More&&... more) {
  return beck::cancel_after(at - Clock::now(), static_cast<More&&>(more)...);
}

BECK_ASIO_END
