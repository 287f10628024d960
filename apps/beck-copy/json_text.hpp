// SPDX-License-Identifier: BSL-1.0
//
// Text as JSON.
#pragma once

#include <string>
#include <string_view>

namespace beck_copy {

/// Returns `text` in quotes, with escapes. Bytes that are no UTF-8, which file names may contain,
/// become U+FFFD.
std::string json_text(std::string_view text);

}  // namespace beck_copy
