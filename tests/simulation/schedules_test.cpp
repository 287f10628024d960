// SPDX-License-Identifier: BSL-1.0
// Seeded schedules on the simulator: whatever the order and the pieces, every byte arrives once and
// in order, and nothing is left.
#include <doctest/doctest.h>

#include <beck/testing/check.hpp>
#include <vector>

#include <algorithm>

#include "simulation/schedule.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using beck::test::schedule_program;
namespace sim = beck::testing::sim;

namespace {

sim::check_options from_build_folder() {
  return sim::check_options().command("build/release/tests/simulate");
}

}  // namespace

TEST_CASE("20,000 seeded schedules deliver every byte, differ from each other and leave nothing") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(20'000));
  std::vector<std::uint64_t> hashes;
  hashes.reserve(wanted);
  const auto keep = [](std::uint64_t, std::uint64_t hash, void* to) {
    static_cast<std::vector<std::uint64_t>*>(to)->push_back(hash);
  };
  const sim::check_outcome outcome =
      sim::check(from_build_folder().seeds(0, wanted).on_run(keep, &hashes), schedule_program);
  CHECK(outcome.passed);
  REQUIRE(hashes.size() == outcome.runs);
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
  CHECK(distinct * 100 >= static_cast<std::ptrdiff_t>(wanted) * 99);
  beck::test::report_value("schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("the same seed gives the same schedule again, and so does its tape") {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    sim::world first(seed, sim::settings().record());
    CHECK(schedule_program(first).empty());
    sim::world second(seed);
    CHECK(schedule_program(second).empty());
    CHECK(first.hash() == second.hash());
    sim::world replay(first.tape());
    CHECK(schedule_program(replay).empty());
    CHECK(first.hash() == replay.hash());
  }
}

TEST_CASE("1,000 seeds have the same hashes in every build") {
  const sim::check_outcome outcome = sim::check(from_build_folder(), schedule_program);
  CHECK(outcome.runs == 1'000);
  beck::test::report_fingerprint("simulation.hashes", outcome.digest);
}
