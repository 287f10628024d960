// SPDX-License-Identifier: BSL-1.0
// steady_timer: waits on the steady clock (virtual inside a simulation).
#pragma once

#include <cstdint>

#include <beck/detail/runner.hpp>
#include <beck/io/timer_object.hpp>

namespace beck {

/// A timer on the steady clock, which setting the date does not affect: the timer for most
/// programs. See basic_timer.
using steady_timer = basic_timer<detail::clock_kind::steady>;

/// Returns the time of the current context's steady clock: virtual in a simulation. Outside of
/// every run(): the system's. Thread: any.
time_point steady_now() noexcept;

namespace detail {

/// Returns the time at which the context that runs this thread last read its clock, in nanoseconds;
/// outside of every context steady_now(). A system call less than that.
inline std::int64_t loop_time() noexcept {
  const runner* const here = runner::current();
  return here != nullptr && here->read_at != 0 ? here->read_at : steady_now().nanoseconds();
}

}  // namespace detail

}  // namespace beck
