// SPDX-License-Identifier: BSL-1.0
// The value of a Location field as servers write it, which is often not a valid URL.
#pragma once

#include <string>
#include <string_view>

namespace beck::http::detail {

/// Returns a reference in which bytes that a path, query or fragment must not have are escaped with
/// "%", as browsers do: spaces, brackets, bytes of UTF-8, a "%" that begins no escape. Scheme and
/// host stay unchanged: parse_url() checks them. Throws std::bad_alloc.
std::string encode_location(std::string_view text);

/// Returns whether `target` may be in a request line, as request_parser accepts it: a path with or
/// without a query, or "*" for OPTIONS.
bool is_target(std::string_view target, bool may_be_star) noexcept;

}  // namespace beck::http::detail
