// SPDX-License-Identifier: BSL-1.0
// SHA-1, written as in the standard, without optimisations: a handshake hashes two blocks.
#include "websocket/handshake.hpp"

#include <bit>
#include <cstring>

#include <beck/base/base64.hpp>

namespace beck::websocket::detail {
namespace {

constexpr std::size_t chunk_bytes = 64;
constexpr std::size_t length_bytes = 8;  // of the text's length, at the end of the last block
constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view websocket_id = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Adds a block to the state of a hash.
void add_block(std::uint32_t (&state)[5], const unsigned char* block) noexcept {
  std::uint32_t words[80];
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
               std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  }
  for (std::size_t i = 16; i < 80; ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mixed = 0;
    switch (i / 20) {
      case 0:
        mixed = ((b & c) | (~b & d)) + 0x5a827999;
        break;
      case 1:
        mixed = (b ^ c ^ d) + 0x6ed9eba1;
        break;
      case 2:
        mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
        break;
      default:
        mixed = (b ^ c ^ d) + 0xca62c1d6;
        break;
    }
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

}  // namespace

sha1_hash sha1(std::string_view text) noexcept {
  std::uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (; text.size() >= chunk_bytes; text.remove_prefix(chunk_bytes))
    add_block(state, reinterpret_cast<const unsigned char*>(text.data()));
  unsigned char last[2 * chunk_bytes] = {};
  if (!text.empty()) std::memcpy(last, text.data(), text.size());
  last[text.size()] = 0x80;
  const std::size_t padded =
      text.size() + 1 + length_bytes <= chunk_bytes ? chunk_bytes : 2 * chunk_bytes;
  for (std::size_t i = 0; i < length_bytes; ++i)
    last[padded - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  for (std::size_t at = 0; at < padded; at += chunk_bytes) add_block(state, last + at);
  sha1_hash hash;
  for (std::size_t i = 0; i < sha1_hash::bytes_max; ++i)
    hash.bytes[i] = static_cast<unsigned char>(state[i / 4] >> (24 - 8 * (i % 4)));
  return hash;
}

bool is_key(std::string_view key) noexcept {
  constexpr std::size_t size = 24;  // 22 digits for 16 bytes, and "=="
  if (key.size() != size || key.substr(size - 2) != "==") return false;
  return key.substr(0, size - 2).find_first_not_of(digits) == std::string_view::npos;
}

std::string accept_value(std::string_view key) {
  std::string text(key);
  text.append(websocket_id);
  const sha1_hash hash = sha1(text);
  return to_base64({reinterpret_cast<const char*>(hash.bytes), sizeof hash.bytes});
}

}  // namespace beck::websocket::detail
