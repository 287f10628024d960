// SPDX-License-Identifier: BSL-1.0
//
// What the tool says in the end.
#pragma once

#include <string>

#include "copy.hpp"
#include "settings.hpp"

namespace beck_copy {

/// One object; `problem` is what went wrong, or empty.
std::string json_report(const settings& asked, const outcome& done, const std::string& problem);

/// For people, on standard error: nothing unless there is something to know, they look at a
/// terminal, or asked for it.
void print_report(const settings& asked, const outcome& done);

}  // namespace beck_copy
