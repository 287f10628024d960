// SPDX-License-Identifier: BSL-1.0
// What the cases do with an exploration: a sound scenario must hold in every execution, and counts
// for the last line of ./test; a planted defect must be found.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "interleavings/explore.hpp"
#include "support/report.hpp"

namespace beck::interleavings {

/// Explores all of it; a failure prints the execution that fails.
template <class Scenario>
outcome expect_sound(const char* name, const bounds& limits = {}) {
  outcome o = explore<Scenario>(limits);
  std::printf("interleavings: %s: %llu\n", name, static_cast<unsigned long long>(o.executions));
  test::report_value("interleavings", static_cast<long long>(o.executions));
  CHECK_MESSAGE(!o.failed, name, ": ", o.failure, "\n", o.trace);
  return o;
}

/// The defect must be found. Gives the execution that shows it.
template <class Scenario>
outcome expect_found(const char* name, const defect& planted, const bounds& limits = {}) {
  outcome o = explore<Scenario>(limits, planted);
  CHECK_MESSAGE(o.failed, name, ": not found in ", o.executions, " interleavings");
  if (o.failed) {
    std::printf("planted: %s: found in interleaving %llu: %s\n%s\n", name,
                static_cast<unsigned long long>(o.executions), o.failure.c_str(), o.trace.c_str());
  }
  return o;
}

/// Weakens each memory order of the code under test in turn. Gives those whose weakening nothing
/// shows, as "function file:line".
template <class Scenario>
std::vector<std::string> needless_orders(const outcome& sound, const char* file,
                                         const bounds& limits = {}) {
  std::vector<std::string> needless;
  for (const ordered_place& p : sound.places) {
    if (p.file != file) continue;
    const outcome weak =
        explore<Scenario>(limits, {defect::kind::weaken, p.function.c_str(), p.line});
    if (!weak.failed) needless.push_back(p.function);
  }
  return needless;
}

}  // namespace beck::interleavings
