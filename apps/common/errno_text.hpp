// SPDX-License-Identifier: BSL-1.0
//
// Sentences for errnos, for all tools.
#pragma once

#include <string>

namespace beck_apps {

/// Returns a text such as "WHAT: No space left on device (ENOSPC)".
std::string errno_text(const std::string& what, int error);

}  // namespace beck_apps
