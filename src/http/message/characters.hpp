// SPDX-License-Identifier: BSL-1.0
// Classes of characters (RFC 9110, section 5.6.2; RFC 3986, sections 3.2.2 to 3.4), as one table of
// bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace beck::http::detail {

enum character_class : std::uint8_t {
  in_token = 1,  ///< of methods and field names
  in_host = 2,   ///< of a registered name or an IPv4 address; the comma is left out
  in_ipv6 = 4,   ///< between brackets
  is_digit = 8,
  is_hex = 16,
  in_path = 32,   ///< of a path; "%" is left out
  in_query = 64,  ///< of a query or a fragment; "%" is left out
};

constexpr std::array<std::uint8_t, 256> make_character_classes() noexcept {
  std::array<std::uint8_t, 256> table{};
  const auto mark = [&table](std::string_view text, unsigned bits) {
    for (const char c : text) {
      auto& entry = table[static_cast<unsigned char>(c)];
      entry = static_cast<std::uint8_t>(entry | bits);
    }
  };
  mark("0123456789", in_token | in_host | in_ipv6 | is_digit | is_hex);
  mark("abcdefABCDEF", in_token | in_host | in_ipv6 | is_hex);
  mark("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ", in_token | in_host);
  mark("!#$%&'*+-.^_`|~", in_token);
  mark("-._~%!$&'()*+;=", in_host);
  mark(":.", in_ipv6);
  mark("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+,;=:@/",
       in_path | in_query);
  mark("?", in_query);
  return table;
}
inline constexpr std::array<std::uint8_t, 256> character_classes = make_character_classes();

constexpr bool is_in(char c, character_class which) noexcept {
  return (character_classes[static_cast<unsigned char>(c)] & which) != 0;
}

constexpr bool all_in(std::string_view text, character_class which) noexcept {
  unsigned all = which;
  for (const char c : text) all &= character_classes[static_cast<unsigned char>(c)];
  return all != 0;
}

constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && all_in(text, in_token);
}

/// Returns whether a character is a control character, such as NUL, CR and LF, which would end or
/// corrupt a line.
constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Returns whether one of 8 bytes is a control character.
constexpr bool has_control(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
  const std::uint64_t del = bytes ^ ones * 0x7f;
  const std::uint64_t below_space = (bytes - ones * 0x20) & ~bytes;
  return ((below_space | ((del - ones) & ~del)) & highs) != 0;
}

/// Returns the bytes of a short text as one word; some bytes occur twice, and spaces fill the rest.
/// Requires 0 < text.size() < 8.
inline std::uint64_t short_word(std::string_view text) noexcept {
  const std::size_t size = text.size();
  std::uint32_t low = 0x20202020, high = low;
  if (size >= sizeof low) {
    std::memcpy(&low, text.data(), sizeof low);
    std::memcpy(&high, text.data() + size - sizeof high, sizeof high);
  } else {
    const char some[] = {text[0], text[size / 2], text[size - 1], ' '};
    std::memcpy(&low, some, sizeof low);
  }
  return low | std::uint64_t{high} << 32;
}

/// Returns whether a text may be the value of a field: it has no control character except tabs.
inline bool is_field_value(std::string_view text) noexcept {
  std::uint64_t word;
  if (text.empty()) return true;
  bool clean = text.size() >= sizeof word || !has_control(short_word(text));
  for (std::size_t left = text.size(); clean && left >= sizeof word; left -= sizeof word) {
    std::memcpy(&word, text.data() + left - sizeof word, sizeof word);
    clean = !has_control(word);
  }
  if (clean && text.size() > sizeof word) {  // the first bytes, some of them a second time
    std::memcpy(&word, text.data(), sizeof word);
    clean = !has_control(word);
  }
  if (clean) return true;
  for (const char c : text)  // the control character may be a tab
    if (is_control(c) && c != '\t') return false;
  return true;
}

/// Returns the value of a hexadecimal digit. Requires that `c` is one.
constexpr unsigned hex_value(char c) noexcept {
  return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/// Returns whether `text` has "%" and two hexadecimal digits at `at`.
constexpr bool is_escape(std::string_view text, std::size_t at) noexcept {
  return text.size() - at >= 3 && text[at] == '%' && is_in(text[at + 1], is_hex) &&
         is_in(text[at + 2], is_hex);
}

/// Returns the byte that is escaped at `at`. Requires is_escape(text, at).
constexpr char escaped_byte(std::string_view text, std::size_t at) noexcept {
  return static_cast<char>(hex_value(text[at + 1]) << 4 | hex_value(text[at + 2]));
}

/// Returns the length of a text up to its first CR or LF.
constexpr std::size_t line_bytes_of(std::string_view text) noexcept {
  std::size_t end = 0;
  while (end < text.size() && text[end] != '\r' && text[end] != '\n') ++end;
  return end;
}

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Returns whether `text`, which contains no control character, is `name` in any case. `name` has
/// only lower case letters, digits and '-'. Setting bit 5 of a character makes it one of these only
/// if it is a letter, one of these, or a control character.
template <std::size_t Size>
bool is_name(std::string_view text, const char (&name)[Size]) noexcept {
  constexpr std::size_t bytes = Size - 1;
  using word = std::conditional_t<(bytes < 8), std::uint32_t, std::uint64_t>;
  static_assert(bytes >= sizeof(word) && bytes <= 2 * sizeof(word));
  if (text.size() != bytes) return false;
  const auto word_at = [](std::string_view from, std::size_t at) {
    word value;
    std::memcpy(&value, from.data() + at, sizeof value);
    return value;
  };
  constexpr word bits = static_cast<word>(0x2020202020202020);
  constexpr std::size_t last = bytes - sizeof(word);  // the two words may overlap
  const std::string_view wanted(name, bytes);
  return (((word_at(text, 0) | bits) ^ word_at(wanted, 0)) |
          ((word_at(text, last) | bits) ^ word_at(wanted, last))) == 0;
}

/// Compares without regard to the case of ASCII letters.
constexpr bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

/// Returns whether a character means nothing but itself in a URL (RFC 3986, section 2.3).
constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Returns the length of the UTF-8 character at the beginning of `text`; 0 if it is invalid.
constexpr std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const unsigned next = byte(1);
  const bool is_bad = (first == 0xE0 && next < 0xA0) || (first == 0xED && next > 0x9F) ||
                      (first == 0xF0 && next < 0x90) || (first == 0xF4 && next > 0x8F);
  return is_bad ? 0 : bytes;
}

/// Removes spaces and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Removes the first element of a comma-separated list from `list` and returns it, trimmed.
constexpr std::string_view take_element(std::string_view& list) noexcept {
  const std::size_t comma = list.find(',');
  const std::string_view element = list.substr(0, comma);
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return trimmed(element);
}

}  // namespace beck::http::detail
