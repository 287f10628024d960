// SPDX-License-Identifier: BSL-1.0
//
// From the command line to settings, and the text of --help.
#pragma once

#include <optional>

#include "settings.hpp"

namespace beck_copy {

/// Returns the settings; nothing if the program is to end with `status` at once, because help, the
/// version or an error in the command line was printed. Throws failure for a value out of its
/// limits.
std::optional<settings> parse_command_line(int argc, char** argv, int& status);

}  // namespace beck_copy
