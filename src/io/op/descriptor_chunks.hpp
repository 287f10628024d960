// SPDX-License-Identifier: BSL-1.0
// How the table of descriptors is cut: it grows by chunks that never move, because events and other
// threads name slots by their number, and whose sizes grow so slowly that little of it is unused.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace beck {

/// Eight chunks of 64 slots, then eight that are twice as large, and so on: behind the first eight
/// at most an eighth of all slots is unused.
struct descriptor_chunks {
  static constexpr std::uint32_t first = 64;
  static constexpr std::uint32_t of_size = 8;
  static constexpr std::size_t most = std::size_t{20} * of_size;

  /// The chunk that holds slot `index`.
  static constexpr std::uint32_t holding(std::uint32_t index) noexcept {
    const std::uint32_t unit = index / first;
    const auto step = static_cast<std::uint32_t>(std::bit_width(unit / of_size + 1)) - 1;
    return step * of_size + ((unit - of_size * ((1u << step) - 1)) >> step);
  }
  /// The number of its first slot, and how many it has.
  static constexpr std::uint32_t begin(std::uint32_t chunk) noexcept {
    const std::uint32_t step = chunk / of_size;
    return first * (of_size * ((1u << step) - 1) + (chunk % of_size << step));
  }
  static constexpr std::uint32_t size(std::uint32_t chunk) noexcept {
    return first << chunk / of_size;
  }
};

static_assert([] {
  for (std::uint32_t chunk = 0; chunk < 32; ++chunk) {
    const std::uint32_t begin = descriptor_chunks::begin(chunk);
    const std::uint32_t end = begin + descriptor_chunks::size(chunk);
    if (descriptor_chunks::begin(chunk + 1) != end) return false;
    if (descriptor_chunks::holding(begin) != chunk) return false;
    if (descriptor_chunks::holding(end - 1) != chunk) return false;
  }
  return true;
}());

}  // namespace beck
