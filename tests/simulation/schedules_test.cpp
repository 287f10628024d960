// SPDX-License-Identifier: BSL-1.0
// Seeded schedules on the simulator: whatever the order and the pieces, every byte arrives once and
// in order, and nothing is left.
#include <doctest/doctest.h>

#include <beck/testing/check.hpp>
#include <string>
#include <vector>

#include <algorithm>

#include "simulation/programs.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/watchdog.hpp"

int beck::test::busy_limits_max() noexcept { return 30; }  // its cases search for minutes

using beck::test::cancellation_program;
using beck::test::cluster_program;
using beck::test::faulty_schedule_program;
using beck::test::run_faulty_schedule;
using beck::test::schedule_program;
using beck::test::workers_program;
namespace sim = beck::testing::sim;

namespace {

sim::check_options replayed_by(const char* command, std::uint64_t seeds) {
  return {.seeds = seeds, .command = command};
}

constexpr char simulate_schedule[] = "build/release/tests/simulate schedule";
constexpr char simulate_faulty[] = "build/release/tests/simulate faulty";
constexpr char simulate_cancellation[] = "build/release/tests/simulate cancellation";
constexpr char simulate_workers[] = "build/release/tests/simulate workers";
constexpr char simulate_cluster[] = "build/release/tests/simulate cluster";

}  // namespace

TEST_CASE("100,000 seeded schedules deliver every byte, differ from each other and leave nothing") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(100'000));
  std::vector<std::uint64_t> hashes;
  hashes.reserve(wanted);
  const auto keep = [](std::uint64_t, std::uint64_t hash, void* to) {
    static_cast<std::vector<std::uint64_t>*>(to)->push_back(hash);
  };
  sim::check_options counted = replayed_by(simulate_schedule, wanted);
  counted.on_run = keep;
  counted.data = &hashes;
  const sim::check_outcome outcome = sim::check(counted, schedule_program);
  CHECK(outcome.passed);
  REQUIRE(hashes.size() == outcome.runs);
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
  CHECK(distinct * 100 >= static_cast<std::ptrdiff_t>(wanted) * 99);
  beck::test::report_value("schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("80,000 seeded schedules with faults end, with every byte right up to an error") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(80'000));
  const sim::check_outcome outcome =
      sim::check(replayed_by(simulate_faulty, wanted), faulty_schedule_program);
  CHECK(outcome.passed);
  beck::test::report_value("schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("20,000 seeded programs whose operations are cut short lose no byte and no lock") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(20'000));
  long long cancelled = 0;
  const sim::check_outcome outcome =
      sim::check(replayed_by(simulate_cancellation, wanted), cancellation_program);
  CHECK(outcome.passed);
  for (std::uint64_t seed = 0; seed < wanted; ++seed) {
    sim::world world(seed);
    cancelled += beck::test::run_cancellation(world).cancelled;
  }
  CHECK(cancelled > 5 * static_cast<long long>(wanted));
  beck::test::report_value("cancel_cases", cancelled);
}

TEST_CASE("30,000 seeded programs on three virtual threads keep their strands, bytes and counts") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(30'000));
  std::vector<std::uint64_t> hashes;
  hashes.reserve(wanted);
  const auto keep = [](std::uint64_t, std::uint64_t hash, void* to) {
    static_cast<std::vector<std::uint64_t>*>(to)->push_back(hash);
  };
  sim::check_options counted = replayed_by(simulate_workers, wanted);
  counted.on_run = keep;
  counted.data = &hashes;
  const sim::check_outcome outcome = sim::check(counted, workers_program);
  CHECK(outcome.passed);
  REQUIRE(hashes.size() == outcome.runs);
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
  CHECK(distinct * 100 >= static_cast<std::ptrdiff_t>(wanted) * 97);
  beck::test::report_value("worker_schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("the programs on virtual threads are disturbed in every way") {
  unsigned aborted = 0, thrown = 0, stops = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::world world(seed);
    const beck::test::workers_result r = beck::test::run_workers(world);
    aborted += r.aborted;
    thrown += r.thrown;
    stops += r.stops;
  }
  CHECK(aborted > 500);
  CHECK(thrown > 50);
  CHECK(stops > 50);
}

TEST_CASE("most conversations survive the ordinary faults, and some do not") {
  unsigned whole = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::world world(seed);
    whole += run_faulty_schedule(world).failures == 0 ? 1u : 0u;
  }
  CHECK(whole > 100);
  CHECK(whole < 190);
}

TEST_CASE("2,000 clusters with faults, partitions and crashes answer every question in the end") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(2'000));
  CHECK(sim::check(replayed_by(simulate_cluster, wanted), cluster_program).passed);
  beck::test::report_value("clusters", static_cast<long long>(wanted));
}

TEST_CASE("the hand of a cluster parts, crashes and makes its clients try again") {
  unsigned retries = 0, crashes = 0, partitions = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sim::world world(seed);
    const beck::test::cluster_result r = beck::test::run_cluster(world);
    retries += r.retries;
    crashes += r.crashes;
    partitions += r.partitions;
  }
  CHECK(retries > 50);
  CHECK(crashes > 50);
  CHECK(partitions > 50);
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

TEST_CASE("the same seed has the same faults again, and so has its tape") {
  for (const auto program : {faulty_schedule_program, cluster_program, workers_program}) {
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
      sim::world first(seed, sim::settings().record());
      CHECK(program(first).empty());
      sim::world second(seed);
      CHECK(program(second).empty());
      CHECK(first.hash() == second.hash());
      sim::world replay(first.tape());
      CHECK(program(replay).empty());
      CHECK(first.hash() == replay.hash());
    }
  }
}

TEST_CASE("1,000 seeds have the same hashes in every build") {
  for (const auto& [name, program] : beck::test::simulated_programs) {
    const std::string command = std::string("build/release/tests/simulate ") + name;
    const sim::check_outcome outcome = sim::check({.command = command.c_str()}, program);
    CHECK(outcome.runs == 1'000);
    beck::test::report_fingerprint((std::string("simulation.") + name).c_str(), outcome.digest);
  }
}
