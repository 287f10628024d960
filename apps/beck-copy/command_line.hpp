// SPDX-License-Identifier: BSL-1.0
//
// From the command line to settings, and the text of --help.
#pragma once

#include <optional>

#include "settings.hpp"

namespace beck_copy {

/// Nothing if the program is to end with `status` at once: help and version were printed, or what
/// is wrong with the command line. Throws failure for a value out of its limits.
std::optional<settings> parse_command_line(int argc, char** argv, int& status);

}  // namespace beck_copy
