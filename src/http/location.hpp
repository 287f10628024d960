// SPDX-License-Identifier: BSL-1.0
// The value of a Location field as servers write it, which is often no URL.
#pragma once

#include <string>
#include <string_view>

namespace beck::http::detail {

/// Returns a reference with "%" codes for the bytes that its path, query or fragment must not have,
/// as browsers do: spaces, brackets, bytes of UTF-8, a "%" that begins no code. Scheme and host
/// stay as they are, for parse_url() to judge. Throws std::bad_alloc.
std::string encode_location(std::string_view text);

/// Returns whether a request line may have `target`, as request_parser takes it: a path with or
/// without a query, or "*" for OPTIONS.
bool is_target(std::string_view target, bool may_be_star) noexcept;

}  // namespace beck::http::detail
