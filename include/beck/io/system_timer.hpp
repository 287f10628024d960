// SPDX-License-Identifier: BSL-1.0
// system_timer: waits for a date (virtual inside a simulation).
#pragma once

#include <beck/io/timer_object.hpp>

namespace beck {

/// A timer for points of std::chrono::system_clock. If the date is set while a wait is pending, the
/// wait ends when the clock shows the expiry, noticed within a second. expires_after() means the
/// date, too: a duration from the date that the clock shows now. See basic_timer.
using system_timer = basic_timer<detail::clock_kind::system>;

/// Returns the date of the current context's machine: virtual in a simulation. Outside of every
/// run(): the system's. Thread: any.
system_time_point system_now() noexcept;

}  // namespace beck
