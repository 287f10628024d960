// SPDX-License-Identifier: BSL-1.0
//
// The server of the tool: from settings to its end.
#pragma once

#include "settings.hpp"

namespace beck_serve {

/// Serves until a signal. Returns the status of the process: 1, after a line on stderr, if it
/// cannot listen. Throws failure, and std::exception, if it cannot begin.
int serve(const settings& asked);

}  // namespace beck_serve
