// SPDX-License-Identifier: BSL-1.0
//
// A small generator whose sequence depends on the seed and nothing else: the distributions of
// <random> differ between standard libraries, and a failing seed must fail everywhere.
#pragma once

#include <cstdint>

namespace beck::testing {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class small_random {
 public:
  explicit small_random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
  }

  /// Returns a number in [0, `bound`); 0 if `bound` is 0. The bias is below 2^-32 for the bounds of
  /// tests.
  unsigned below(unsigned bound) {
    return bound == 0 ? 0 : static_cast<unsigned>((next() >> 32) % bound);
  }

  /// Returns a number in [`low`, `high`].
  unsigned between(unsigned low, unsigned high) { return low + below(high - low + 1); }

  /// Returns true `per_mille` times in a thousand. Draws no number if it is 0, so that a calm run
  /// stays the same when a new kind of chance is added.
  bool chance(unsigned per_mille) { return per_mille != 0 && below(1000) < per_mille; }

 private:
  std::uint64_t state_;
};

}  // namespace beck::testing
