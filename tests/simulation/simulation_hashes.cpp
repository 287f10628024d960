// SPDX-License-Identifier: BSL-1.0
// Prints the hash of each seed's schedule and a digest of all. Two builds that do not print the
// same do not simulate the same.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation/hashes.hpp"

int main(int argc, char** argv) {
  std::uint64_t seeds = 200;
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) {
    seeds = std::strtoull(argv[2], nullptr, 10);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: simulation_hashes [--seeds N]\n");
    return 2;
  }
  const std::uint64_t digest =
      beck::test::digest_of_seeds(seeds, [](std::uint64_t seed, std::uint64_t hash) {
        std::printf("%" PRIu64 " %016" PRIx64 "\n", seed, hash);
      });
  std::printf("digest %016" PRIx64 "\n", digest);
  return 0;
}
