// SPDX-License-Identifier: BSL-1.0
// The source of a world's draws: they are generated from a seed, generated and recorded on a tape,
// or read from a tape. Each subsystem draws through a sim_random with a stream number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beck::detail {

/// A tape: the draws of a whole run. It keeps the choices themselves, stream by stream, so that a
/// choice can be undone (set to 0) or left out while the following ones keep their meaning.
///
/// As bytes: "BKT1", the seed, then for each stream that is not empty, in ascending order: its
/// number, the number of its values, and the values. After a value of 0 follows the number of
/// further zeros. All numbers are LEB128: seven bits a byte, the lowest first, the high bit on all
/// bytes but the last.
struct sim_tape {
  static constexpr std::size_t streams_max = 16;
  /// Most draws of all streams together: a tape of a few bytes can describe many zeros, which must
  /// fit into memory.
  static constexpr std::size_t draws_max = std::size_t{1} << 22;
  static constexpr std::string_view mark = "BKT1";

  std::uint64_t seed = 0;
  std::vector<std::uint64_t> streams[streams_max];

  /// Returns the number of all values.
  std::size_t draws() const noexcept;
  /// Returns the number of values other than 0, which is the calmest choice.
  std::size_t choices() const noexcept;

  std::string encode() const;
  /// Reads a tape from `bytes`. Returns nullptr, or the reason why the bytes are malformed; then
  /// the contents of the tape are unspecified.
  const char* decode(std::string_view bytes);
};

/// One stream, recorded or replayed.
struct sim_reel {
  std::vector<std::uint64_t> values;
  std::size_t at = 0;      ///< when replaying: number of values that have been read
  std::size_t beyond = 0;  ///< draws past its end
  bool replays = false;

  std::uint64_t record(std::uint64_t value) {
    values.push_back(value);
    return value;
  }
  /// Returns the next value of the tape, reduced below `bound` (0: no bound); past the end of the
  /// tape 0, the calmest choice.
  std::uint64_t replay(std::uint64_t bound) noexcept {
    if (at == values.size()) return past_end();
    std::uint64_t& value = values[at++];
    if (bound != 0 && value >= bound) value %= bound;
    return value;
  }

 private:
  /// The most draws past the end: a program that draws until an event happens would draw for ever.
  static constexpr std::size_t beyond_max = std::size_t{1} << 24;

  std::uint64_t past_end() noexcept;
};

/// The draws of a world, from one of the three sources.
class sim_draws {
 public:
  static constexpr std::uint64_t streams_max = sim_tape::streams_max;
  /// The stream of the user's program; the subsystems count from 1.
  static constexpr std::uint64_t program_stream = 0;

  /// Generates draws from `seed`; if `recorded`, keeps them.
  sim_draws(std::uint64_t seed, bool recorded);
  /// Replays `tape`.
  explicit sim_draws(const sim_tape& tape);

  std::uint64_t seed() const noexcept { return seed_; }
  bool recorded() const noexcept { return reels_ != nullptr; }
  /// Returns the reel of a stream; nullptr if the draws are generated and not kept. The address
  /// stays valid when this is moved.
  sim_reel* reel(std::uint64_t stream) const noexcept;
  /// Returns the draws up to now, without the zeros at the end of each stream. Requires recorded().
  sim_tape tape() const;

 private:
  std::uint64_t seed_;
  std::unique_ptr<sim_reel[]> reels_;
};

}  // namespace beck::detail
