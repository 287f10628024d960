// SPDX-License-Identifier: BSL-1.0
//
// Slots of keys: CRC-16 by a table that the compiler makes.
#include <beck/redis/key_slot.hpp>

#include <array>
#include <cstddef>

namespace beck::redis {
namespace {

constexpr std::uint16_t polynomial = 0x1021;

/// Returns the checksum of each byte alone.
constexpr std::array<std::uint16_t, 256> make_checksums() noexcept {
  std::array<std::uint16_t, 256> checksums{};
  for (unsigned byte = 0; byte < checksums.size(); ++byte) {
    unsigned sum = byte << 8;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 0x8000) != 0 ? sum << 1 ^ polynomial : sum << 1;
    checksums[byte] = static_cast<std::uint16_t>(sum);
  }
  return checksums;
}

constexpr auto checksums = make_checksums();

/// Returns the part of a key that decides where it is kept.
std::string_view hashed_part(std::string_view key) noexcept {
  const std::size_t opening = key.find('{');
  if (opening == std::string_view::npos) return key;
  const std::size_t closing = key.find('}', opening + 1);
  if (closing == std::string_view::npos || closing == opening + 1) return key;
  return key.substr(opening + 1, closing - opening - 1);
}

}  // namespace

std::uint16_t functions::key_slot(std::string_view key) noexcept {
  unsigned sum = 0;
  for (const char c : hashed_part(key))
    sum = (sum << 8 ^ checksums[(sum >> 8 ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  return static_cast<std::uint16_t>(sum % key_slots);
}

}  // namespace beck::redis
