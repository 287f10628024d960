// SPDX-License-Identifier: BSL-1.0
//
// Names of commands, which Redis compares without regard to capital letters.
#pragma once

#include <algorithm>
#include <string_view>

namespace beck_redis_proxy {

/// Returns whether two texts are the same but for capital letters in the first one.
inline bool is_word(std::string_view text, std::string_view small_text) noexcept {
  return std::equal(text.begin(), text.end(), small_text.begin(), small_text.end(),
                    [](char one, char small) {
                      const bool is_capital = one >= 'A' && one <= 'Z';
                      return (is_capital ? static_cast<char>(one | 0x20) : one) == small;
                    });
}

}  // namespace beck_redis_proxy
