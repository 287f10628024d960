// SPDX-License-Identifier: BSL-1.0
// Access to private members of public classes, for the sources of this folder.
#pragma once

#include <beck/testing/check.hpp>
#include <beck/testing/tape.hpp>

#include "io/sim/sim_draws.hpp"

namespace beck::detail {
class sim_world;
}

namespace beck::testing::sim {
using namespace detail;

/// Returns the simulator below a world.
struct world_access {
  static sim_world& simulated(world& w) noexcept;
};

}  // namespace beck::testing::sim

namespace beck::testing::sim {
using namespace detail;

/// Converts between the tapes of users and those of the simulator.
struct tape_access {
  static tape make(const sim_tape& draws);
  static const sim_tape& draws_of(const tape& from) noexcept;
};

}  // namespace beck::testing::sim
