// SPDX-License-Identifier: BSL-1.0
// What the cases do with an exploration: a sound scenario must hold in every execution, and counts
// for the last line of ./test; a planted defect must be found.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interleavings/explore.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

namespace beck::interleavings {
using namespace detail;

/// Only the beginning, in builds where every step is slower.
inline bounds shortened(bounds limits) {
  if (test::scaled(2) != 2) limits.executions_max = 20'000;
  return limits;
}

/// Explores all of it, or the beginning where every step is slower; a failure prints the execution
/// that fails.
template <class Scenario>
outcome expect_sound(const char* name, bounds limits = {}) {
  limits = shortened(limits);
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
  test::report_value("planted.all", 1);
  CHECK_MESSAGE(o.failed, name, ": not found in ", o.executions, " interleavings");
  if (o.failed) {
    test::report_value("planted.found", 1);
    std::printf("planted: %s: found in interleaving %llu: %s\n%s\n", name,
                static_cast<unsigned long long>(o.executions), o.failure.c_str(), o.trace.c_str());
  }
  return o;
}

/// Weakens each memory order of a file under test in turn, and gives the functions with one whose
/// weakening none of the scenarios shows.
template <class... Scenarios>
std::vector<std::string> needless_orders(std::string_view file, const bounds& limits = {}) {
  std::set<ordered_place> places;
  const auto collect = [&](const outcome& o) {
    for (const ordered_place& p : o.places) {
      if (p.file == file) places.insert(p);
    }
  };
  (collect(explore<Scenarios>(shortened(limits))), ...);
  CHECK_FALSE(places.empty());
  std::vector<std::string> needless;
  for (const ordered_place& p : places) {
    const defect weak{defect::kind::weaken, p.function.c_str(), p.line};
    if (!(explore<Scenarios>(limits, weak).failed || ...)) needless.push_back(p.function);
  }
  return needless;
}

}  // namespace beck::interleavings
