// SPDX-License-Identifier: BSL-1.0
// Depth first: the same path again up to the last choice that has an alternative left.
#include "interleavings/explore.hpp"

#include <algorithm>
#include <cstdio>
#include "support/watchdog.hpp"

int beck::test::busy_limits_max() noexcept { return 30; }  // its cases search for minutes

namespace beck::interleavings {
namespace {
constexpr std::uint64_t progress_every = 2'000'000;
}

outcome explore(const std::function<scenario*()>& make, const bounds& limits,
                const defect& planted) {
  world& w = world::now();
  outcome result;
  w.places = &result.places;
  choices path;
  do {
    {
      const leaks_allowed while_it_runs;
      w.execute(make, path, limits, planted, false);
    }
    if (++result.executions % progress_every == 0) {
      std::printf("interleavings: %llu so far\n",
                  static_cast<unsigned long long>(result.executions));
      std::fflush(stdout);
    }
    if (w.failure().empty()) continue;
    const leaks_allowed again;
    w.execute(make, path, limits, planted, true);
    result.failed = true;
    result.failure = w.failure();
    result.trace = w.trace();
    break;
  } while (result.executions < limits.executions_max && path.advance());
  w.places = nullptr;
  std::sort(result.places.begin(), result.places.end());
  return result;
}

}  // namespace beck::interleavings
