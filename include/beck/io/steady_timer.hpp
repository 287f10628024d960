// SPDX-License-Identifier: BSL-1.0
// steady_timer: waits on the steady clock (virtual inside a simulation).
#pragma once

#include <beck/io/timer_object.hpp>

namespace beck {

/// What most programs want: no change of the date affects it. See basic_waitable_timer.
using steady_timer = basic_waitable_timer<detail::clock_kind::steady>;

/// The time that the steady clock of the current context shows: virtual in a simulation. Outside of
/// every run(): the system's.
time_point steady_now() noexcept;

}  // namespace beck
