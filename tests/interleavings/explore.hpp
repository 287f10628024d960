// SPDX-License-Identifier: BSL-1.0
// Runs every execution of a scenario within the bounds, until one fails. A failure is replayed and
// written down: who did what, in order, with the values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "interleavings/world.hpp"

namespace beck::interleavings {

struct outcome {
  std::uint64_t executions = 0;
  bool failed = false;
  std::string failure;  ///< in words
  std::string trace;    ///< the failing execution, a line an operation
  std::vector<ordered_place> places;
};

outcome explore(const std::function<scenario*()>& make, const bounds& limits,
                const defect& planted = {});

template <class Scenario>
outcome explore(const bounds& limits = {}, const defect& planted = {}) {
  return explore([] { return new Scenario; }, limits, planted);
}

}  // namespace beck::interleavings
