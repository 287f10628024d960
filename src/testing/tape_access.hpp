// SPDX-License-Identifier: BSL-1.0
// Between the tapes that users hold and the simulator's.
#pragma once

#include <beck/testing/tape.hpp>

#include "io/sim/sim_tape.hpp"

namespace beck::testing::sim {
using namespace detail;

struct tape_access {
  static tape make(const sim_tape& draws);
  static const sim_tape& draws_of(const tape& from) noexcept;
};

}  // namespace beck::testing::sim
