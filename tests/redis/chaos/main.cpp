// SPDX-License-Identifier: BSL-1.0
//
// redis_chaos: clients of real redis-servers that are cut off, stopped, killed and moved, for as
// long as one likes. The oracles of each scene must hold, and no call may wait for ever.
// usage: redis_chaos [--minutes N] [--seconds N] [--seed N] [--scene single|cluster|sentinel]
//                    [--backend epoll|io_uring]
// Exit status: 0; 1 if an oracle was violated; 2 wrong usage; 3 redis-server is not installed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "redis/chaos/cluster_scene.hpp"
#include "redis/chaos/round.hpp"
#include "redis/chaos/sentinel_scene.hpp"
#include "redis/chaos/single_scene.hpp"
#include "redis/real_server.hpp"

namespace {

using beck::redis::test::round;

struct scene {
  const char* name;
  void (*run)(round&);
  int seconds;  ///< of a round
};
constexpr scene scenes[] = {
    {"single", beck::redis::test::run_single_scene, 15},
    {"cluster", beck::redis::test::run_cluster_scene, 25},
    {"sentinel", beck::redis::test::run_sentinel_scene, 45},
};
constexpr beck::backend backends[] = {beck::backend::io_uring, beck::backend::epoll};

struct settings {
  long seconds = 300;
  std::uint64_t seed = 1;
  std::string scene, backend;
};

bool read_settings(int argc, char** argv, settings& to) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return false;
    char* end = nullptr;
    const unsigned long long number = std::strtoull(argv[i + 1], &end, 10);
    const bool is_number = *end == '\0' && end != argv[i + 1];
    if (name == "--seconds" && is_number && number > 0 && number <= 86'400) {
      to.seconds = static_cast<long>(number);
    } else if (name == "--minutes" && is_number && number > 0 && number <= 1'440) {
      to.seconds = static_cast<long>(number * 60);
    } else if (name == "--seed" && is_number) {
      to.seed = number;
    } else if (name == "--scene") {
      to.scene = argv[i + 1];
    } else if (name == "--backend") {
      to.backend = argv[i + 1];
    } else {
      return false;
    }
  }
  bool has_scene = to.scene.empty(), has_backend = to.backend.empty();
  for (const scene& one : scenes) has_scene |= to.scene == one.name;
  for (const beck::backend one : backends) has_backend |= to.backend == beck::to_string(one);
  return has_scene && has_backend;
}

}  // namespace

int main(int argc, char** argv) {
  settings asked;
  if (!read_settings(argc, argv, asked)) {
    std::fputs(
        "usage: redis_chaos [--minutes N] [--seconds N] [--seed N] [--scene "
        "single|cluster|sentinel] "
        "[--backend epoll|io_uring]\n",
        stderr);
    return 2;
  }
  if (!beck::redis::test::has_server()) {
    std::fprintf(stderr, "%s is not installed\n", beck::redis::test::server_program());
    return 3;
  }
  const beck::redis::test::stopwatch begin;
  std::map<std::string, long long> counts;
  const auto has_time = [&] { return !begin.has_passed(std::chrono::seconds(asked.seconds)); };
  bool has_failed = false;
  long rounds = 0;
  for (std::uint64_t seed = asked.seed; has_time() && !has_failed; ++seed) {
    for (const beck::backend on : backends) {
      if (!asked.backend.empty() && asked.backend != beck::to_string(on)) continue;
      for (const scene& one : scenes) {
        if (!asked.scene.empty() && asked.scene != one.name) continue;
        if (has_failed || !has_time()) continue;
        std::printf("seed %llu, %s, on %s\n", static_cast<unsigned long long>(seed), one.name,
                    beck::to_string(on));
        std::fflush(stdout);
        // A short run has all scenes on all backends, too.
        round now{on, seed,
                  std::chrono::seconds(std::clamp<long>(asked.seconds / 6, 1, one.seconds))};
        one.run(now);
        ++rounds;
        for (const auto& [name, count] : now.counts) counts[name] += count;
        has_failed |= !now.violations.empty();
      }
    }
  }
  for (const auto& [name, count] : counts) std::printf("%-40s %12lld\n", name.c_str(), count);
  std::printf("%ld rounds, %s\n", rounds, has_failed ? "an oracle was violated" : "nothing found");
  return has_failed ? 1 : 0;
}
