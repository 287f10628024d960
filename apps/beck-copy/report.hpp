// SPDX-License-Identifier: BSL-1.0
//
// The report at the end of the tool.
#pragma once

#include <string>

#include "copy.hpp"
#include "settings.hpp"

namespace beck_copy {

/// Returns the report as one object; `problem` is the error message, or empty.
std::string json_report(const settings& asked, const outcome& done, const std::string& problem);

/// Prints the report for people on standard error: nothing unless there is a note, standard error
/// is a terminal, or the settings ask for it.
void print_report(const settings& asked, const outcome& done);

}  // namespace beck_copy
