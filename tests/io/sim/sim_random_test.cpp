// SPDX-License-Identifier: BSL-1.0
// The generator's numbers are part of every recorded seed: they are written down here.
#include "io/sim/sim_random.hpp"

#include <doctest/doctest.h>

using beck::detail::sim_generator;
using beck::detail::sim_probability;
using beck::detail::sim_random;

TEST_CASE("the simulator's generator gives the same numbers everywhere") {
  sim_generator generator(1, 2);
  const std::uint64_t first = generator.next();
  const std::uint64_t second = generator.next();
  CHECK(first == 9579208193359609190U);
  CHECK(second == 5115929806209566993U);
}

TEST_CASE("streams of one seed and seeds of one stream differ") {
  CHECK(sim_generator(1, 1).next() != sim_generator(1, 2).next());
  CHECK(sim_generator(1, 1).next() != sim_generator(2, 1).next());
  CHECK(sim_generator(1, 1).next() == sim_generator(1, 1).next());
}

TEST_CASE("draws below a bound and between bounds reach both ends and nothing else") {
  sim_random random(3, 0);
  unsigned seen[4] = {};
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t n = random.below(4);
    REQUIRE(n < 4);
    ++seen[n];
  }
  for (const unsigned n : seen) CHECK(n > 800);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t n = random.between(-2, 2);
    REQUIRE(n >= -2);
    REQUIRE(n <= 2);
    low = low || n == -2;
    high = high || n == 2;
  }
  CHECK(low);
  CHECK(high);
  CHECK(random.below(1) == 0);
  CHECK(random.between(7, 7) == 7);
  static_cast<void>(random.between(INT64_MIN, INT64_MAX));
}

TEST_CASE("a probability of 0 never happens, of 1 always, and others about as often as they say") {
  sim_random random(4, 0);
  int often = 0;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE_FALSE(random.chance(sim_probability(0)));
    REQUIRE_FALSE(random.chance(sim_probability(-1)));
    REQUIRE(random.chance(sim_probability(1)));
    REQUIRE(random.chance(sim_probability(2)));
    if (random.chance(sim_probability(0.25))) ++often;
  }
  CHECK(often > 2300);
  CHECK(often < 2700);
}
