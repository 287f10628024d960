// SPDX-License-Identifier: BSL-1.0
// Checks UTF-8 as it arrives. ASCII is skipped 32 bytes at a time. The first byte of any other
// character gives the number of bytes that follow and the bounds of the second byte. With these,
// overlong forms, surrogates and characters above U+10FFFF are found at the first bad byte.
#include <beck/websocket/codec.hpp>

#include <cstring>

namespace beck::websocket::detail {
namespace {

using byte = unsigned char;

std::uint64_t word_at(const byte* text) noexcept {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/// Returns the first byte of `text` that is not ASCII, or `end`.
const byte* skip_ascii(const byte* text, const byte* end) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  while (end - text >= 32) {
    const std::uint64_t all =
        word_at(text) | word_at(text + 8) | word_at(text + 16) | word_at(text + 24);
    if ((all & high_bits) != 0) break;
    text += 32;
  }
  while (end - text >= 8 && (word_at(text) & high_bits) == 0) text += 8;
  while (text != end && *text < 0x80) ++text;
  return text;
}

}  // namespace

/// Takes the first byte of a character that is not ASCII.
bool utf8_state::begin(byte lead) noexcept {
  if (lead < 0xc2 || lead > 0xf4) return false;
  needed_ = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  low_ = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  high_ = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return true;
}

bool utf8_state::feed(const char* data, std::size_t bytes) noexcept {
  const byte* at = reinterpret_cast<const byte*>(data);
  const byte* const end = at + bytes;
  while (at != end) {
    if (needed_ == 0) {
      at = skip_ascii(at, end);
      if (at == end) break;
      if (!begin(*at++)) return false;
      continue;
    }
    if (*at < low_ || *at > high_) return false;
    low_ = 0x80;
    high_ = 0xbf;
    --needed_;
    ++at;
  }
  return true;
}

}  // namespace beck::websocket::detail
