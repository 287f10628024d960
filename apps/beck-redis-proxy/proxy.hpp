// SPDX-License-Identifier: BSL-1.0
//
// The proxy: from settings to its end.
#pragma once

#include "settings.hpp"

namespace beck_redis_proxy {

/// Relays until a signal. Throws failure, and std::exception, if it cannot begin.
void run_proxy(const settings& asked);

}  // namespace beck_redis_proxy
