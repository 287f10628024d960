// SPDX-License-Identifier: BSL-1.0
// The schedules of the simulation tests from a command line: simulate --help.
#include <beck/testing/check.hpp>

#include "simulation/schedule.hpp"

int main(int argc, char** argv) {
  return beck::testing::sim::check(argc, argv, beck::test::schedule_program);
}
