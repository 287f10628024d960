// SPDX-License-Identifier: BSL-1.0
// The text that a server answers a refused message with.
#pragma once

#include <cstdint>
#include <string>

#include <beck/http/limits.hpp>
#include <beck/http/refusal.hpp>

namespace beck::http::detail {

/// Returns the reason in words, with the limit that was passed, its value and its setter.
/// `body_bytes` is the limit of the body. Throws std::bad_alloc.
std::string refusal_reply(refusal why, const limits& bounds, std::uint64_t body_bytes);

}  // namespace beck::http::detail
