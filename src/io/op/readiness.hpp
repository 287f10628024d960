// SPDX-License-Identifier: BSL-1.0
// What every driver does with a readiness event, whoever reported it.
#pragma once

#include "io/op/descriptor.hpp"

namespace beck {

class io_loop;

/// Sets the readiness of `d` from poll(2)-style events and queues attempts of what was parked for
/// them. Runs no user code and does no I/O. Gives how many operations that were.
unsigned note_events(io_loop& loop, descriptor& d, unsigned events) noexcept;

}  // namespace beck
