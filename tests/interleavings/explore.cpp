// SPDX-License-Identifier: BSL-1.0
// Depth first: the same path again up to the last choice that has an alternative left.
#include "interleavings/explore.hpp"

#include <algorithm>

namespace beck::interleavings {

outcome explore(const std::function<scenario*()>& make, const bounds& limits,
                const defect& planted) {
  world& w = world::now();
  outcome result;
  w.places = &result.places;
  choices path;
  do {
    w.execute(make, path, limits, planted, false);
    ++result.executions;
    if (w.failure().empty()) continue;
    w.execute(make, path, limits, planted, true);
    result.failed = true;
    result.failure = w.failure();
    result.trace = w.trace();
    break;
  } while (path.advance());
  w.places = nullptr;
  std::sort(result.places.begin(), result.places.end());
  return result;
}

}  // namespace beck::interleavings
