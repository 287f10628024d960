// SPDX-License-Identifier: BSL-1.0
// The mask: an exclusive or with the four bytes of the key, repeated. Up to the next multiple of 32
// it works byte by byte, then in blocks, with the key rotated to begin at the right byte. The
// blocks are compiled twice: for every processor, and for those with AVX2.
#include <beck/websocket/codec.hpp>

#include <bit>
#include <cstring>

#include "base/wide_block.hpp"

namespace beck::websocket {
namespace {

constexpr std::size_t block_bytes = 32;
using block [[gnu::vector_size(32)]] = std::uint64_t;

/// Masks whole blocks. Returns the number of bytes masked.
BECK_INLINE std::size_t mask_blocks(char* data, std::size_t bytes, std::uint64_t key) noexcept {
  const block keys = {key, key, key, key};
  std::size_t at = 0;
  for (; at + 4 * block_bytes <= bytes; at += 4 * block_bytes) {
    block a, b, c, d;
    std::memcpy(&a, data + at, block_bytes);
    std::memcpy(&b, data + at + block_bytes, block_bytes);
    std::memcpy(&c, data + at + 2 * block_bytes, block_bytes);
    std::memcpy(&d, data + at + 3 * block_bytes, block_bytes);
    a ^= keys;
    b ^= keys;
    c ^= keys;
    d ^= keys;
    std::memcpy(data + at, &a, block_bytes);
    std::memcpy(data + at + block_bytes, &b, block_bytes);
    std::memcpy(data + at + 2 * block_bytes, &c, block_bytes);
    std::memcpy(data + at + 3 * block_bytes, &d, block_bytes);
  }
  for (; at + block_bytes <= bytes; at += block_bytes) {
    block a;
    std::memcpy(&a, data + at, block_bytes);
    a ^= keys;
    std::memcpy(data + at, &a, block_bytes);
  }
  return at;
}

std::size_t mask_plain(char* data, std::size_t bytes, std::uint64_t key) noexcept {
  return mask_blocks(data, bytes, key);
}

BECK_WIDE std::size_t mask_wide(char* data, std::size_t bytes, std::uint64_t key) noexcept {
  return mask_blocks(data, bytes, key);
}

std::size_t mask_whole_blocks(char* data, std::size_t bytes, std::uint64_t key) noexcept {
  return beck::detail::has_wide_blocks() ? mask_wide(data, bytes, key)
                                         : mask_plain(data, bytes, key);
}

/// Masks fewer bytes than a block: eight at a time, then one by one. Returns the key for the next
/// bytes.
std::uint32_t mask_few(char* data, std::size_t bytes, std::uint32_t key) noexcept {
  const std::uint64_t keys = std::uint64_t{key} << 32 | key;
  std::size_t at = 0;
  for (; at + sizeof keys <= bytes; at += sizeof keys) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    word ^= keys;
    std::memcpy(data + at, &word, sizeof word);
  }
  char one[sizeof key];
  std::memcpy(one, &key, sizeof key);
  for (std::size_t i = at; i < bytes; ++i) data[i] = static_cast<char>(data[i] ^ one[i % 4]);
  const int rest = static_cast<int>(bytes % 4) * 8;
  return std::endian::native == std::endian::little ? std::rotr(key, rest) : std::rotl(key, rest);
}

}  // namespace

void functions::apply_mask(char* data, std::size_t bytes, mask_key key,
                           std::uint64_t offset) noexcept {
  char rotated[sizeof key.bytes];
  for (std::size_t i = 0; i < sizeof rotated; ++i) rotated[i] = key.bytes[(offset + i) % 4];
  std::uint32_t word;
  std::memcpy(&word, rotated, sizeof word);
  if (bytes >= 4 * block_bytes) {
    const std::size_t odd = std::bit_cast<std::size_t>(data) % block_bytes;
    const std::size_t before = odd == 0 ? 0 : block_bytes - odd;
    word = mask_few(data, before, word);
    data += before;
    bytes -= before;
    const std::size_t done =
        mask_whole_blocks(data, bytes, std::uint64_t{word} << 32 | word);  // 0 modulo 4
    data += done;
    bytes -= done;
  }
  static_cast<void>(mask_few(data, bytes, word));
}

}  // namespace beck::websocket
