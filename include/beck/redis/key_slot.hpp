// SPDX-License-Identifier: BSL-1.0
//
// The slot of a key: Redis Cluster divides all keys among its nodes by these numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace beck::redis {

/// The number of slots of a cluster.
inline constexpr std::uint16_t key_slots = 16384;

namespace functions {

/// Returns the slot of a key: CRC-16/XMODEM of its bytes, modulo key_slots. Of a key that contains
/// "{tag}" with a tag of at least one byte, only the first such tag counts. So keys with the same
/// tag have the same slot. A key may hold any bytes. Pure.
/// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
std::uint16_t key_slot(std::string_view key) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::redis
