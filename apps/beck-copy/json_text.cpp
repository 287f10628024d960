// SPDX-License-Identifier: BSL-1.0
//
// Escapes of RFC 8259, and a look at UTF-8 as RFC 3629 defines it.
#include "json_text.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace beck_copy {
namespace {

/// The length of the character that begins at `text`, or 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0u) == 0x80u; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && follows(1)) return 2;
  const bool overlong_3 = first == 0xe0 && at(1) < 0xa0;
  const bool surrogate = first == 0xed && at(1) >= 0xa0;
  if ((first & 0xf0) == 0xe0 && !overlong_3 && !surrogate && follows(1) && follows(2)) return 3;
  const bool overlong_4 = first == 0xf0 && at(1) < 0x90;
  const bool beyond = first > 0xf4 || (first == 0xf4 && at(1) >= 0x90);
  if ((first & 0xf8) == 0xf0 && !overlong_4 && !beyond && follows(1) && follows(2) && follows(3))
    return 4;
  return 0;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char first = text[0];
    if (length == 0)
      out += "\\ufffd";
    else if (first == '"' || first == '\\')
      out += {'\\', first};
    else if (static_cast<unsigned char>(first) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}  // namespace beck_copy
