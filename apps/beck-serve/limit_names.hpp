// SPDX-License-Identifier: BSL-1.0
//
// The limits of the server by name, as --limit takes them.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/limits.hpp>
#include <string>
#include <string_view>

namespace beck_serve {

/// Sets a limit: "idle=30s", "body_bytes=64M", "connections=500". Throws wrong_usage, which names
/// the text and the limits that there are, or the values that this one may have.
void set_limit(std::string_view text, beck::http::limits& to);

/// Reads a time such as "500ms", "10s" or "2m"; a number alone is seconds. Throws wrong_usage,
/// which begins with `option`.
beck::duration parse_time(std::string_view option, std::string_view text);

/// Returns the names of all limits with their defaults, a line each, for --help.
std::string limits_help();

}  // namespace beck_serve
