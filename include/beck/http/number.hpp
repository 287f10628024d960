// SPDX-License-Identifier: BSL-1.0
//
// Numbers in texts of a client: parts of paths and values of forms.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::http::detail {

/// The types of numbers that texts are converted to.
template <class T>
concept text_number = (std::integral<T> || std::floating_point<T>) && !std::same_as<T, bool> &&
                      !std::same_as<T, char>;

/// Reads a whole text as a number, without a sign "+" and spaces. Returns whether it is one that
/// the type has; decimal, and for double also with an exponent, but neither infinite nor NaN.
struct number_text {
  static bool read(std::string_view text, long long& to) noexcept;
  static bool read(std::string_view text, unsigned long long& to) noexcept;
  static bool read(std::string_view text, double& to) noexcept;
  /// As above, for all types.
  template <text_number T>
  static bool read(std::string_view text, T& to) noexcept {
    if constexpr (std::floating_point<T>) {
      double wide = 0;
      if (!read(text, wide)) return false;
      to = static_cast<T>(wide);
      return to - to == T(0);  // a float may have become infinite
    } else {
      std::conditional_t<std::unsigned_integral<T>, unsigned long long, long long> wide = 0;
      if (!read(text, wide)) return false;
      if (!std::in_range<T>(wide)) return false;
      to = static_cast<T>(wide);
      return true;
    }
  }
};

/// Throws failure(404), for a part of a path that is no number.
[[noreturn]] void refuse_part();

}  // namespace beck::http::detail
