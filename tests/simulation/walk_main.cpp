// SPDX-License-Identifier: BSL-1.0
// Walks from a command line: simulate_walks --help. With --plant NAME before everything else, in a
// library with that bug; with --workers after that, the program on several threads in their place.
#include <beck/testing/check.hpp>
#include <cstdio>
#include <cstring>
#include <string>

#include "simulation/planted.hpp"
#include "simulation/walk_program.hpp"
#include "simulation/workers.hpp"

int main(int argc, char** argv) {
  std::string command;
  if (argc > 2 && std::strcmp(argv[1], "--plant") == 0) {
    if (!beck::test::plant(argv[2])) {
      std::fprintf(stderr, "no such bug: %s\n", argv[2]);
      return 2;
    }
    command = std::string(argv[0]) + " --plant " + argv[2];
    argc -= 2;
    argv += 2;
    argv[0] = command.data();  // so that the command that replays a failure plants the bug too
  }
  if (argc > 1 && std::strcmp(argv[1], "--workers") == 0) {
    command += std::string(command.empty() ? argv[0] : "") + " --workers";
    argc -= 1;
    argv += 1;
    argv[0] = command.data();
    return beck::testing::sim::check(argc, argv, beck::test::workers_program);
  }
  return beck::testing::sim::check(argc, argv, beck::test::walk_program);
}
