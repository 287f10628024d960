// SPDX-License-Identifier: BSL-1.0
//
// Messages to the service manager that has started the program, such as systemd.
#pragma once

#include <string_view>

namespace beck {
namespace functions {

/// Sends a message such as "READY=1" or "STOPPING=1" to the socket that the environment variable
/// NOTIFY_SOCKET names: a path or, behind "@", an abstract name. Does nothing without it. Does not
/// wait, and ignores errors: the program works without a manager, too. http::run() calls it by
/// itself. Thread: any, while no other one changes the environment.
/// Source: sd_notify(3), for units with Type=notify.
void notify_service_manager(std::string_view message) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck
