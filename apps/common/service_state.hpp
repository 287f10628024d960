// SPDX-License-Identifier: BSL-1.0
//
// Messages to the service manager, for units with Type=notify.
#pragma once

#include <string_view>

namespace beck_apps {

/// Sends a message such as "READY=1" to the socket that NOTIFY_SOCKET names, a path or, behind "@",
/// an abstract name; without one, does nothing. Does not wait, and ignores errors, as the program
/// works without a manager too.
void notify_manager(std::string_view message);

}  // namespace beck_apps
