// SPDX-License-Identifier: BSL-1.0
// Judges the texts of numbers, so that each refusal names the first wrong byte.
#include "redis/protocol/number_text.hpp"

#include <charconv>
#include <limits>

namespace beck::redis::detail {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

number_fault bad(protocol_error reason, std::size_t place) noexcept {
  return {true, reason, place};
}

/// Returns the place behind the digits that begin at `place`.
std::size_t skip_digits(std::string_view text, std::size_t place) noexcept {
  while (place < text.size() && is_digit(text[place])) ++place;
  return place;
}

/// Checks the part of a double's text from `place` on: digits, a fraction, an exponent.
number_fault check_decimal(std::string_view text, std::size_t place) noexcept {
  const std::size_t first = place;
  place = skip_digits(text, place);
  if (place == first) return bad(protocol_error::bad_double, place);
  if (text[first] == '0' && place - first > 1) return bad(protocol_error::bad_double, first + 1);
  if (place < text.size() && text[place] == '.') {
    const std::size_t fraction = ++place;
    place = skip_digits(text, place);
    if (place == fraction) return bad(protocol_error::bad_double, place);
  }
  if (place < text.size() && (text[place] == 'e' || text[place] == 'E')) {
    ++place;
    if (place < text.size() && (text[place] == '+' || text[place] == '-')) ++place;
    const std::size_t exponent = place;
    place = skip_digits(text, place);
    if (place == exponent) return bad(protocol_error::bad_double, place);
  }
  if (place != text.size()) return bad(protocol_error::bad_double, place);
  return {};
}

}  // namespace

number_fault check_big_number(std::string_view text) noexcept {
  const std::size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t end = skip_digits(text, first);
  if (end != text.size() || end == first) return bad(protocol_error::bad_digit, end);
  if (text[first] == '0' && (first == 1 || end > 1)) return bad(protocol_error::bad_digit, first);
  return {};
}

number_fault read_integer(std::string_view text, std::int64_t& to) noexcept {
  if (const number_fault fault = check_big_number(text); fault.is_bad) return fault;
  const bool is_negative = text[0] == '-';
  constexpr auto greatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t most = is_negative ? greatest + 1 : greatest;
  std::uint64_t value = 0;
  for (const char c : text.substr(is_negative ? 1 : 0)) {
    const std::uint64_t digit = static_cast<unsigned char>(c) - std::uint64_t{'0'};
    if (value > (most - digit) / 10) return bad(protocol_error::number_too_large, 0);
    value = value * 10 + digit;
  }
  to = static_cast<std::int64_t>(is_negative ? 0 - value : value);
  return {};
}

number_fault read_double(std::string_view text, double& to) noexcept {
  const std::size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::string_view magnitude = text.substr(first);
  if (magnitude != "inf" && magnitude != "nan")
    if (const number_fault fault = check_decimal(text, first); fault.is_bad) return fault;
  // Since the text is checked, only its magnitude can be wrong.
  const auto read = std::from_chars(text.data(), text.data() + text.size(), to);
  if (read.ec != std::errc()) return bad(protocol_error::number_too_large, 0);
  return {};
}

}  // namespace beck::redis::detail
