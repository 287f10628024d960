// SPDX-License-Identifier: BSL-1.0
// Seeded schedules on the simulator: whatever the order and the pieces, every byte arrives once and
// in order, and nothing is left.
#include <doctest/doctest.h>

#include <beck/testing/sim.hpp>
#include <vector>

#include <algorithm>

#include "simulation/hashes.hpp"
#include "simulation/schedule.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using beck::test::run_faulty_schedule;
using beck::test::run_schedule;
using beck::test::schedule_result;

TEST_CASE("20,000 seeded schedules deliver every byte, differ from each other and leave nothing") {
  const int wanted = beck::test::scaled(20'000);
  std::vector<std::uint64_t> hashes;
  hashes.reserve(static_cast<std::size_t>(wanted));
  for (int seed = 0; seed < wanted; ++seed) {
    const schedule_result r = run_schedule(static_cast<std::uint64_t>(seed));
    INFO("seed ", seed);
    REQUIRE(r.wrong_bytes == 0);
    REQUIRE(r.failures == 0);
    REQUIRE(r.early_timers == 0);
    REQUIRE(r.messages == schedule_result::connections * schedule_result::messages_each);
    REQUIRE(r.ends == schedule_result::connections);
    REQUIRE(r.outstanding == 0);
    REQUIRE(r.next_descriptor == 1000);
    hashes.push_back(r.hash);
  }
  const auto schedules = static_cast<long long>(hashes.size());
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
  CHECK(distinct * 100 >= schedules * 99);
  beck::test::report_value("schedules", schedules);
}

TEST_CASE("10,000 seeded schedules with faults end, with every byte right up to an error") {
  const int wanted = beck::test::scaled(10'000);
  int whole = 0;
  int broken = 0;
  for (int seed = 0; seed < wanted; ++seed) {
    const schedule_result r = run_faulty_schedule(static_cast<std::uint64_t>(seed));
    INFO("seed ", seed);
    REQUIRE(r.wrong_bytes == 0);
    REQUIRE(r.early_timers == 0);
    REQUIRE(r.outstanding == 0);
    REQUIRE(r.next_descriptor == 1000);
    const unsigned all = schedule_result::connections * schedule_result::messages_each;
    if (r.messages == all) {
      ++whole;
    } else {
      ++broken;
      REQUIRE(r.faults > 0);
      REQUIRE(r.failures > 0);
    }
    if (r.faults == 0) REQUIRE(r.failures == 0);
  }
  CHECK(whole > wanted / 4);
  CHECK(broken > wanted / 20);
  beck::test::report_value("faulty_schedules", wanted);
}

TEST_CASE("the same seed gives the same schedule again") {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const schedule_result first = run_schedule(seed);
    const schedule_result second = run_schedule(seed);
    CHECK(first.hash == second.hash);
    const schedule_result faulty = run_faulty_schedule(seed);
    CHECK(faulty.hash == run_faulty_schedule(seed).hash);
    CHECK(faulty.hash != first.hash);
  }
}

TEST_CASE("200 seeds have the same hashes in every build") {
  beck::test::report_fingerprint("simulation.hashes", beck::test::digest_of_seeds(200, nullptr));
}
