// SPDX-License-Identifier: BSL-1.0
// The text of the response to a message that the server refuses. It tells the client's programmer
// the limit that was exceeded, its value and its member.
#pragma once

#include <cstdint>
#include <string>

#include <beck/http/limits.hpp>
#include <beck/http/refusal.hpp>

namespace beck::http::detail {

/// Returns the reason in words, with the limit. `body_bytes` is the limit of the body.
std::string refusal_text(refusal why, const limits& bounds, std::uint64_t body_bytes);

}  // namespace beck::http::detail
