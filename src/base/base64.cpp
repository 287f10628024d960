// SPDX-License-Identifier: BSL-1.0
// Base64 in both alphabets: three bytes are four characters.
#include <beck/base/base64.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace beck {
namespace {

constexpr std::string_view common =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view last_two[] = {"+/", "-_"};
constexpr std::uint8_t no_value = 64;

std::string_view last_of(base64_form form) noexcept {
  return last_two[static_cast<unsigned>(form)];
}

char character_of(unsigned value, base64_form form) noexcept {
  value &= 63U;
  return value < common.size() ? common[value] : last_of(form)[value - common.size()];
}

constexpr std::array<std::uint8_t, 256> make_values() noexcept {
  std::array<std::uint8_t, 256> table{};
  for (auto& value : table) value = no_value;
  for (std::size_t i = 0; i < common.size(); ++i)
    table[static_cast<unsigned char>(common[i])] = static_cast<std::uint8_t>(i);
  return table;
}
constexpr std::array<std::uint8_t, 256> values = make_values();

/// Returns the value of a character; no_value if the alphabet has not got it.
unsigned value_of(char c, base64_form form) noexcept {
  const std::size_t at = last_of(form).find(c);
  if (at != std::string_view::npos) return static_cast<unsigned>(common.size() + at);
  return values[static_cast<unsigned char>(c)];
}

}  // namespace

std::string beck::functions::to_base64(std::string_view bytes, base64_form form) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (unsigned i = 0; i <= group.size(); ++i) text += character_of(bits >> (18 - 6 * i), form);
    if (form == base64_form::standard) text.append(3 - group.size(), '=');
  }
  return text;
}

bool beck::functions::from_base64(std::string_view text, std::string& to, base64_form form) {
  to.clear();
  if (form == base64_form::standard) {
    if (text.size() % 4 != 0) return false;
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return false;
  to.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned unused = 0;
  for (const char c : text) {
    const unsigned value = value_of(c, form);
    if (value == no_value) {
      to.clear();
      return false;
    }
    bits = bits << 6 | value;
    unused += 6;
    if (unused >= 8) to += static_cast<char>(bits >> (unused -= 8) & 0xffU);
  }
  if ((bits & ((1U << unused) - 1)) == 0) return true;
  to.clear();
  return false;
}

}  // namespace beck
