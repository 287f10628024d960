// SPDX-License-Identifier: BSL-1.0
//
// The limits of the server by name, as --limit takes them.
#pragma once

#include <beck/http/limits.hpp>
#include <string>
#include <string_view>

namespace beck_serve {

/// Sets a limit: "idle_timeout=30s", "body_bytes=64M", "connections=500". Throws wrong_usage, which
/// names the text and the limits that there are, or the values that this one may have.
void set_limit(std::string_view text, beck::http::limits& to);

/// Returns the names of all limits with their defaults, a line each, for --help.
std::string limits_help();

}  // namespace beck_serve
