// SPDX-License-Identifier: BSL-1.0
//
// Reads numbers and characters from the front of a text. Used by the parsers of addresses.
#pragma once

#include <beck/detail/text_view.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// A position in a text. No function goes back or past the end; a failed one may have read a part.
class text_reader {
 public:
  explicit text_reader(text_view text) noexcept : rest_(text) {}

  bool at_end() const noexcept { return rest_.empty(); }
  text_view rest() const noexcept { return rest_; }

  bool starts_with(char c) const noexcept { return !rest_.empty() && rest_[0] == c; }

  /// Reads c if it comes next.
  bool take(char c) noexcept {
    if (!starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Reads all digits that come next: one to `digits_max` of them, of a number up to `number_max`.
  bool take_number(unsigned base, std::size_t digits_max, std::uint32_t number_max,
                   std::uint32_t& number) noexcept {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (unsigned digit; !rest_.empty() && (digit = digit_of(rest_[0])) < base; ++digits) {
      if (digits == digits_max) return false;
      value = value * base + digit;  // 10 digits of base 10 and 4 of base 16 fit
      rest_.remove_prefix(1);
    }
    number = static_cast<std::uint32_t>(value);
    return digits != 0 && value <= number_max;
  }

 private:
  // 16 and above is no digit.
  static unsigned digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 16;
  }

  text_view rest_;
};

}  // namespace beck::detail
