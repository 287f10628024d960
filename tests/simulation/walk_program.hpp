// SPDX-License-Identifier: BSL-1.0
// The walk as a program of simulated worlds.
#pragma once

#include <beck/testing/sim.hpp>

namespace beck::test {
using namespace detail;

/// Fails with what was broken.
void walk_program(testing::sim::world& w);

}  // namespace beck::test
