// SPDX-License-Identifier: BSL-1.0
// Seeded clusters: whatever the network and the server's machine go through, clients that retry get
// every answer once things have calmed down.
#include "simulation/cluster.hpp"

#include <doctest/doctest.h>

#include "support/report.hpp"
#include "support/scale.hpp"

using beck::test::cluster_result;
using beck::test::run_cluster;

TEST_CASE("2,000 clusters with faults, partitions and crashes answer every question in the end") {
  const int wanted = beck::test::scaled(2'000);
  unsigned retries = 0, crashes = 0, partitions = 0;
  for (int seed = 0; seed < wanted; ++seed) {
    const cluster_result r = run_cluster(static_cast<std::uint64_t>(seed));
    INFO("seed ", seed);
    REQUIRE(r.answers == cluster_result::clients * cluster_result::questions_each);
    REQUIRE(r.wrong_answers == 0);
    REQUIRE(r.outstanding == 0);
    retries += r.retries;
    crashes += r.crashes;
    partitions += r.partitions;
  }
  CHECK(retries > static_cast<unsigned>(wanted) / 2);
  CHECK(crashes > static_cast<unsigned>(wanted) / 2);
  CHECK(partitions > static_cast<unsigned>(wanted) / 2);
  beck::test::report_value("clusters", wanted);
}

TEST_CASE("the same seed gives the same cluster again, and another one a different one") {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const std::uint64_t hash = run_cluster(seed).hash;
    CHECK(hash == run_cluster(seed).hash);
    CHECK(hash != run_cluster(seed + 1).hash);
  }
}

TEST_CASE("100 clusters have the same hashes in every build") {
  std::uint64_t digest = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) digest = digest * 31 + run_cluster(seed).hash;
  beck::test::report_fingerprint("simulation.clusters", digest);
}
