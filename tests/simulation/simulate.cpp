// SPDX-License-Identifier: BSL-1.0
// The simulated programs of the tests from a command line: simulate PROGRAM --help.
#include <beck/testing/check.hpp>
#include <cstdio>
#include <string>

#include "simulation/programs.hpp"

int main(int argc, char** argv) {
  for (const auto& [name, program] : beck::test::simulated_programs) {
    if (argc < 2 || std::string(argv[1]) != name) continue;
    std::string command = std::string(argv[0]) + " " + name;  // for what is printed
    argv[1] = command.data();
    return beck::testing::sim::check(argc - 1, argv + 1, program);
  }
  std::fprintf(stderr, "usage: %s PROGRAM [options]\nprograms:", argc > 0 ? argv[0] : "simulate");
  for (const auto& [name, program] : beck::test::simulated_programs)
    std::fprintf(stderr, " %s", name);
  std::fprintf(stderr, "\n");
  return 2;
}
