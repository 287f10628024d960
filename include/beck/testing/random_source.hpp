// SPDX-License-Identifier: BSL-1.0
// The random choices of a program under test. They come from the world, so that a seed decides
// them and a tape keeps them: a workload that is drawn here replays and shrinks with the rest.
#pragma once

#include <cstdint>

namespace beck {

namespace detail {
class sim_random;

}  // namespace detail

namespace testing::sim {

/// Draws in a stream of their own: what the program draws does not change what the network does.
/// Let 0, the low end and false be the simplest choice: shrinking tends to them. What has only one
/// outcome draws nothing. A loop that draws until something happens needs a bound: on a tape that
/// has ended it never happens. Thread: the world's.
class random_source {
 public:
  random_source(const random_source&) = delete;
  random_source& operator=(const random_source&) = delete;

  /// From 0 to bound - 1. Requires bound > 0 (asserted).
  std::uint64_t below(std::uint64_t bound) noexcept;
  /// From low to high, both included. Requires low <= high (asserted).
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept;
  /// True with probability p; outside of 0 to 1 the nearest bound counts.
  bool chance(double p) noexcept;

 private:
  friend class world;

  explicit random_source(detail::sim_random& draws) noexcept : draws_(draws) {}

  detail::sim_random& draws_;
};

}  // namespace testing::sim

}  // namespace beck
