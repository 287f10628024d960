// SPDX-License-Identifier: BSL-1.0
// Lines and numbers as texts: written by number_text; read eight bytes at a time by the quick way
// of the parser, whose functions return nullptr unless the text is whole and good; and judged byte
// by byte by the careful way, from number_fault on, which finds the first wrong byte.
#pragma once

#include <beck/redis/error.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace beck::redis::detail {

/// A number as text: an integer in decimal digits, a double in the fewest characters that are read
/// as the same double.
class number_text {
 public:
  template <class Number>
  explicit number_text(Number number) noexcept {
    const std::to_chars_result end = std::to_chars(room_, room_ + sizeof room_, number);
    size_ = static_cast<std::size_t>(end.ptr - room_);
  }
  std::string_view view() const noexcept { return {room_, size_}; }

 private:
  char room_[32];
  std::size_t size_;
};

inline constexpr std::uint64_t every_byte = 0x0101010101010101;
inline constexpr std::uint64_t high_bits = 0x8080808080808080;

/// Returns the eight bytes at `at`, the first one in the lowest bits.
inline std::uint64_t load8(const char* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// Returns the first CR or LF in [at, end), or `end`.
inline const char* find_line_end(const char* at, const char* end) noexcept {
  while (end - at >= 8) {
    // The lowest bit that is set is right: bytes below 14, which are CR, LF and few others.
    const std::uint64_t word = load8(at);
    std::uint64_t below = (word - every_byte * 14) & ~word & high_bits;
    while (below != 0) {
      const char* found = at + std::countr_zero(below) / 8;
      if (*found == '\r' || *found == '\n') return found;
      below &= below - 1;
    }
    at += 8;
  }
  while (at != end && *at != '\r' && *at != '\n') ++at;
  return at;
}

/// Returns the value of `count` digits, 1 to 8, in the low bytes of `word`.
inline std::uint64_t value_of_digits(std::uint64_t word, unsigned count) noexcept {
  word = (word & every_byte * 15) << (64 - 8 * count);
  word = word * 10 + (word >> 8);  // pairs, in every other byte
  constexpr std::uint64_t pairs = 0x000000ff000000ff;
  return ((word & pairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
          ((word >> 16) & pairs) * (1 + (std::uint64_t{10'000} << 32))) >>
         32;
}

/// Returns how many of the eight bytes are digits before the first other one.
inline unsigned count_digits(std::uint64_t word) noexcept {
  const std::uint64_t digits = word ^ (every_byte * '0');
  const std::uint64_t others = ((digits + every_byte * 0x76) | digits) & high_bits;
  return others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) / 8;
}

/// Reads a length of up to eight digits and its CR LF. Returns the place behind them.
inline const char* read_plain_length(const char* at, const char* end, std::uint32_t& to) noexcept {
  if (end - at < 3) return nullptr;
  std::uint32_t value = static_cast<unsigned char>(*at) - std::uint32_t{'0'};
  if (value > 9) return nullptr;
  ++at;
  if (*at != '\r') {
    if (value == 0) return nullptr;
    const char* last = end - at > 8 ? at + 8 : end - 1;
    do {
      const std::uint32_t digit = static_cast<unsigned char>(*at) - std::uint32_t{'0'};
      if (digit > 9 || ++at >= last) return nullptr;
      value = value * 10 + digit;
    } while (*at != '\r');
  }
  if (at[1] != '\n') return nullptr;
  to = value;
  return at + 2;
}

/// Reads digits one by one. Returns the place of the first other byte; nullptr at `end`, or behind
/// eighteen digits.
inline const char* read_digits(const char* at, const char* end, std::uint64_t& value,
                               unsigned& digits) noexcept {
  for (; at != end; ++at, ++digits) {
    const unsigned digit = static_cast<unsigned char>(*at) - unsigned{'0'};
    if (digit > 9) return at;
    if (digits == 18) return nullptr;
    value = value * 10 + digit;
  }
  return nullptr;
}

/// Reads an integer of up to eighteen digits and its CR LF. Returns the place behind them.
inline const char* read_plain_integer(const char* at, const char* end, std::int64_t& to) noexcept {
  if (at == end) return nullptr;
  const bool is_negative = *at == '-';
  at += is_negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t value = 0;
  unsigned digits = 0;
  if (end - at >= 10) {
    const std::uint64_t word = load8(at);
    digits = count_digits(word);
    if (digits == 0) return nullptr;
    value = value_of_digits(word, digits);
    at += digits;
  }
  if (digits == 0 || digits == 8) at = read_digits(at, end, value, digits);
  if (at == nullptr || end - at < 2 || at[0] != '\r' || at[1] != '\n') return nullptr;
  if (digits == 0 || (*first == '0' && (digits > 1 || is_negative))) return nullptr;
  to = is_negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return at + 2;
}

/// Reads a double of up to fifteen digits without an exponent, and its CR LF. Both the digits and
/// the power of ten are exact doubles then, so their quotient is the nearest one to the text.
/// Returns the place behind them.
inline const char* read_plain_double(const char* at, const char* end, double& to) noexcept {
  constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool is_negative = at != end && *at == '-';
  at += is_negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t value = 0;
  unsigned digits = 0;
  at = read_digits(at, end, value, digits);
  if (at == nullptr || digits == 0 || (*first == '0' && digits > 1)) return nullptr;
  const unsigned whole = digits;
  if (*at == '.') {
    at = read_digits(at + 1, end, value, digits);
    if (at == nullptr || digits == whole) return nullptr;
  }
  if (digits > 15 || end - at < 2 || at[0] != '\r' || at[1] != '\n') return nullptr;
  const double real = static_cast<double>(value) / powers[digits - whole];
  to = is_negative ? -real : real;
  return at + 2;
}

/// The fault of the text of a number.
struct number_fault {
  bool is_bad = false;
  protocol_error reason{};
  std::size_t place = 0;  // of the first wrong byte; the size of the text if it is too short
};

/// Reads a text as an integer in its shortest form: "0", or an optional minus and digits of which
/// the first is not 0.
number_fault read_integer(std::string_view text, std::int64_t& to) noexcept;

/// Checks that a text is an integer of any size in its shortest form.
number_fault check_big_number(std::string_view text) noexcept;

/// Reads a text as a double: "inf", "nan" or decimal, each with an optional minus. Servers write
/// NaN as the C library does, so also as "-nan".
number_fault read_double(std::string_view text, double& to) noexcept;

}  // namespace beck::redis::detail
