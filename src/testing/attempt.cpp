// SPDX-License-Identifier: BSL-1.0
// Runs a program in this process. The crash scene knows its world during the run.
#include "testing/shrinker.hpp"

#include <exception>
#include <string_view>

#include "io/sim/sim_world.hpp"
#include "testing/crash_scene.hpp"
#include "testing/world_access.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {

/// Returns the part of a report that is the same in each run: the text up to the first ";" or line
/// break, without numbers.
std::string shape_of(std::string_view report) {
  const std::size_t first = report.find_first_not_of("=\r\n ");
  if (first != std::string_view::npos) report.remove_prefix(first);
  report = report.substr(0, report.find_first_of(";\n"));
  std::string shape;
  bool in_number = false;
  for (const char c : report) {
    const bool digit = c >= '0' && c <= '9';
    const bool hexadecimal = (c >= 'a' && c <= 'f') || c == 'x';
    in_number = digit || (in_number && hexadecimal);
    if (!in_number) shape += c;
  }
  return shape;
}

}  // namespace

bool attempt::same_failure_as(const attempt& other) const {
  return how != ending::passed && how == other.how && shape_of(report) == shape_of(other.report);
}

attempt run_here(const attempt_start& start, program_ref program) {
  attempt result;
  world w =
      start.replayed == nullptr ? world(start.seed, start.how) : world(*start.replayed, start.how);
  sim_world& simulated = world_access::simulated(w);
  const crash_scene::visit visit(simulated);
  if (start.trace != nullptr) w.trace(start.trace, start.trace_data);
  result.seed = w.seed();
  try {
    program(w);
  } catch (const std::exception& thrown) {
    result.how = attempt::ending::failed;
    result.report = thrown.what();
  } catch (...) {
    result.how = attempt::ending::failed;
    result.report = "an exception that is no std::exception";
  }
  result.hash = w.hash();
  if (simulated.draws().recorded()) result.draws = simulated.draws().tape();
  return result;
}

}  // namespace beck::testing::sim
