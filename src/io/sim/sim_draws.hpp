// SPDX-License-Identifier: BSL-1.0
// Where a world's draws come from: generated from a seed, generated and kept on a tape, or read
// from one. Every subsystem draws through a sim_random with a stream number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The draws of a whole run. A tape keeps the choices themselves, stream by stream, so that a choice
// can be taken back (set to 0) or left out and what follows still means what it meant.
//
// As bytes: "BKT1", the seed, then for each stream that is not empty, in ascending order, its
// number, how many values follow, and the values, of which a 0 is followed by how many more zeros
// come after it. All numbers are LEB128: seven bits a byte, the lowest first, the high bit on all
// bytes but the last.
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

// Where a world's draws come from: generated from a seed, generated and kept, or read from a tape.
// Every subsystem draws through a sim_random with a stream number of its own.

/// One stream, recorded or replayed.
struct sim_reel {
  std::vector<std::uint64_t> values;
  std::size_t at = 0;      ///< replays: values before it have been read
  std::size_t beyond = 0;  ///< draws past its end
  bool replays = false;

  std::uint64_t record(std::uint64_t value) {
    values.push_back(value);
    return value;
  }
  /// What the tape says, brought below the bound (0: there is none); past its end 0, the calmest
  /// choice.
  std::uint64_t replay(std::uint64_t bound) noexcept {
    if (at == values.size()) return past_end();
    std::uint64_t& value = values[at++];
    if (bound != 0 && value >= bound) value %= bound;
    return value;
  }

 private:
  /// A program that draws until something happens would do so for ever.
  static constexpr std::size_t beyond_max = std::size_t{1} << 24;

  std::uint64_t past_end() noexcept;
};

class sim_draws {
 public:
  static constexpr std::uint64_t streams_max = sim_tape::streams_max;
  /// The draws of the user's program; the subsystems count from 1.
  static constexpr std::uint64_t program_stream = 0;

  /// Generates; `recorded` keeps what was drawn.
  sim_draws(std::uint64_t seed, bool recorded);
  /// Replays.
  explicit sim_draws(const sim_tape& tape);

  std::uint64_t seed() const noexcept { return seed_; }
  bool recorded() const noexcept { return reels_ != nullptr; }
  /// nullptr: generated and not kept. Stays where it is when this is moved.
  sim_reel* reel(std::uint64_t stream) const noexcept;
  /// What has been drawn up to now, without the calm draws at the end of a stream. Requires
  /// recorded().
  sim_tape tape() const;

 private:
  std::uint64_t seed_;
  std::unique_ptr<sim_reel[]> reels_;
};

}  // namespace beck::detail
