// SPDX-License-Identifier: BSL-1.0
// Random numbers of the simulator. They are its own because the standard distributions differ
// between libraries, so that a seed would mean something else on every machine. Each subsystem
// draws from a stream of its own: one more draw in one stream does not change the others.
#pragma once

#include <cstdint>

namespace beck::detail {

class sim_draws;
struct sim_reel;

/// A probability as a share of 2^32, so that no comparison depends on the compiler's floating-point
/// arithmetic.
class sim_probability {
 public:
  constexpr sim_probability() noexcept = default;
  /// Converts `p`: outside of 0 to 1, to the nearest bound; not a number, to 0.
  constexpr explicit sim_probability(double p) noexcept
      : share_(p >= 1  ? whole
               : p > 0 ? static_cast<std::uint64_t>(p * 4294967296.0)
                       : 0) {}

  constexpr std::uint64_t share() const noexcept { return share_; }
  constexpr bool never() const noexcept { return share_ == 0; }
  constexpr bool always() const noexcept { return share_ == whole; }

 private:
  static constexpr std::uint64_t whole = std::uint64_t{1} << 32;

  std::uint64_t share_ = 0;
};

/// xoshiro256** by Blackman and Vigna, its state filled by splitmix64 (prng.di.unimi.it).
class sim_generator {
 public:
  /// Makes the generator of one stream; the streams of one seed are independent of each other.
  sim_generator(std::uint64_t seed, std::uint64_t stream) noexcept;

  std::uint64_t next() noexcept;
  /// Returns a number from 0 to bound - 1; any number if the bound is 0.
  std::uint64_t below(std::uint64_t bound) noexcept;

 private:
  std::uint64_t state_[4];
};

/// The draws of one subsystem: from the generator, which may be recorded, or from a tape
/// (sim_draws.hpp). A draw with only one possible outcome is not made. Each caller lets 0, the low
/// end and false stand for the calmest choice, because a tape that has ended returns these.
class sim_random {
 public:
  /// Generates draws that are never recorded.
  sim_random(std::uint64_t seed, std::uint64_t stream) noexcept;
  /// Generates, records or replays, as `draws` does, which must outlive this. Requires stream <
  /// sim_draws::streams_max.
  sim_random(sim_draws& draws, std::uint64_t stream) noexcept;

  /// Returns a number from 0 to bound - 1. Requires bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 1 ? 0 : draw(bound); }
  /// Returns a number from `low` to `high`, both included. Requires low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept;
  bool chance(sim_probability p) noexcept {
    if (p.never() || p.always()) return p.always();
    return reel_ == nullptr ? (generator_.next() >> 32) < p.share() : taped_chance(p);
  }

 private:
  std::uint64_t draw(std::uint64_t bound) noexcept {  // bound 0: from all numbers
    return reel_ == nullptr ? generator_.below(bound) : taped(bound);
  }
  std::uint64_t taped(std::uint64_t bound) noexcept;
  bool taped_chance(sim_probability p) noexcept;

  sim_generator generator_;
  sim_reel* reel_ = nullptr;
};

}  // namespace beck::detail
