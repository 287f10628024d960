// SPDX-License-Identifier: BSL-1.0
// All simulated programs of the library's tests, by name.
#pragma once

#include <beck/testing/sim.hpp>
#include <cstddef>
#include <iterator>
#include <string>

#include "simulation/cancellation.hpp"
#include "simulation/cluster.hpp"
#include "simulation/schedule.hpp"
#include "simulation/workers.hpp"

namespace beck::test {

struct simulated_program {
  const char* name;
  std::string (*run)(testing::sim::world&);
};

inline constexpr simulated_program simulated_programs[] = {
    {"schedule", schedule_program}, {"faulty", faulty_schedule_program},
    {"cluster", cluster_program},   {"cancellation", cancellation_program},
    {"workers", workers_program},
};
inline constexpr std::size_t simulated_program_count = std::size(simulated_programs);

}  // namespace beck::test
