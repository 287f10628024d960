// SPDX-License-Identifier: BSL-1.0
// The draws of a whole run. A tape keeps the choices themselves, stream by stream, so that a choice
// can be taken back (set to 0) or left out and what follows still means what it meant.
//
// As bytes: "BKT1", the seed, then for each stream that is not empty, in ascending order, its
// number, how many values follow, and the values, of which a 0 is followed by how many more zeros
// come after it. All numbers are LEB128: seven bits a byte, the lowest first, the high bit on all
// bytes but the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beck::detail {

struct sim_tape {
  static constexpr std::size_t streams_max = 16;
  /// In all streams together: what a tape of a few bytes can say must fit into memory.
  static constexpr std::size_t draws_max = std::size_t{1} << 22;
  static constexpr std::string_view mark = "BKT1";

  std::uint64_t seed = 0;
  std::vector<std::uint64_t> streams[streams_max];

  /// All values.
  std::size_t draws() const noexcept;
  /// Those that are not 0, the calmest choice.
  std::size_t choices() const noexcept;

  std::string encode() const;
  /// nullptr, or what is wrong with the bytes; the tape is worth nothing then.
  const char* decode(std::string_view bytes);
};

}  // namespace beck::detail
