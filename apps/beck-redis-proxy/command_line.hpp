// SPDX-License-Identifier: BSL-1.0
//
// From the command line to settings, and the text of --help.
#pragma once

#include <optional>

#include "settings.hpp"

namespace beck_redis_proxy {

/// Returns the settings; nothing if the program is to end with `status` at once, because help, the
/// version or an error in the command line was printed. Throws wrong_usage for a value that an
/// option does not take.
std::optional<settings> parse_command_line(int argc, char** argv, int& status);

}  // namespace beck_redis_proxy
