// SPDX-License-Identifier: BSL-1.0
// The random choices of a program under test. They come from the world, so that a seed decides them
// and a tape records them: a workload made of them replays and shrinks with the rest.
#pragma once

#include <cstdint>

namespace beck {

namespace detail {
class sim_random;

}  // namespace detail

namespace testing::sim {

/// Draws from a separate stream: the program's draws do not change the network's. Let 0, the low
/// end and false be the simplest choice: shrinking prefers them. A choice with only one outcome
/// draws nothing. A loop that draws until it gets a certain outcome needs a bound: after the end of
/// a tape that outcome may never come. Thread: the world's.
class random_source {
 public:
  random_source(const random_source&) = delete;
  random_source& operator=(const random_source&) = delete;

  /// Returns a number from 0 to bound - 1. Requires bound > 0 (asserted).
  std::uint64_t below(std::uint64_t bound) noexcept;
  /// Returns a number from low to high, both included. Requires low <= high (asserted).
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept;
  /// Returns true with probability p; outside of 0 to 1 the nearest bound is used.
  bool chance(double p) noexcept;

 private:
  friend class world;

  explicit random_source(detail::sim_random& draws) noexcept : draws_(draws) {}

  detail::sim_random& draws_;
};

}  // namespace testing::sim

}  // namespace beck
