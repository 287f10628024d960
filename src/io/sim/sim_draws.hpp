// SPDX-License-Identifier: BSL-1.0
// Where a world's draws come from: generated from a seed, generated and kept, or read from a tape.
// Every subsystem draws through a sim_random with a stream number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/sim/sim_tape.hpp"

namespace beck::detail {

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
