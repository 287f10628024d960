// SPDX-License-Identifier: BSL-1.0
// The reply to a message that the server refuses tells the client's programmer the limit that was
// passed, its value and its setter.
#pragma once

#include <cstdint>
#include <string>

#include <beck/http/limits.hpp>
#include <beck/http/refusal.hpp>

namespace beck::http::detail {

/// Returns the reason in words, with the limit. `body_bytes` is that of the body.
std::string refusal_text(refusal why, const limits& bounds, std::uint64_t body_bytes);

}  // namespace beck::http::detail
