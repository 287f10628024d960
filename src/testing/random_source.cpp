// SPDX-License-Identifier: BSL-1.0
// The program's stream of draws.
#include <beck/testing/random_source.hpp>

#include <beck/base/assert.hpp>

#include "io/sim/sim_random.hpp"

namespace beck::testing::sim {
using namespace detail;

std::uint64_t random_source::below(std::uint64_t bound) noexcept {
  BECK_ASSERT(bound > 0, "no number is below 0");
  return draws_.below(bound);
}

std::int64_t random_source::between(std::int64_t low, std::int64_t high) noexcept {
  BECK_ASSERT(low <= high, "a range begins at its low end");
  return draws_.between(low, high);
}

bool random_source::chance(double p) noexcept { return draws_.chance(sim_probability(p)); }

}  // namespace beck::testing::sim
