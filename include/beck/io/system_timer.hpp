// SPDX-License-Identifier: BSL-1.0
// system_timer: waits for a date (virtual inside a simulation).
#pragma once

#include <beck/io/timer_object.hpp>

namespace beck {

/// For points of std::chrono::system_clock. The date may be set while a wait is pending: then the
/// wait ends when the clock shows the expiry, noticed within a second. Also expires_after() means
/// the date: a duration from what the clock shows now. See basic_waitable_timer.
using system_timer = basic_waitable_timer<detail::clock_kind::system>;

/// The date that the current context's machine shows: virtual in a simulation. Outside of every
/// run(): the system's.
system_time_point system_now() noexcept;

}  // namespace beck
