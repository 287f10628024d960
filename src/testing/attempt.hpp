// SPDX-License-Identifier: BSL-1.0
// One run of a program in a world, here or in a child process, and what became of it.
#pragma once

#include <beck/testing/check.hpp>
#include <functional>
#include <string>

#include "io/sim/sim_tape.hpp"

namespace beck::testing::sim {
using namespace detail;

struct attempt {
  static constexpr std::uint64_t digest_basis = 0xcbf29ce484222325;

  enum class ending : unsigned char {
    passed,
    failed,   ///< by an exception or a report
    died,     ///< the process ended
    endless,  ///< it took too much processor time
  };

  ending how = ending::passed;
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;
  std::string report;
  std::uint64_t cpu_us = 0;  ///< processor time of a child process
  std::uint64_t runs = 0;
  std::uint64_t digest = digest_basis;  ///< of their hashes, FNV-1a
  sim_tape draws;                       ///< if they were recorded or replayed

  /// Whether this is a failure, and by its report the same as another one but for its numbers.
  bool same_failure_as(const attempt& other) const;
};

/// How a run begins: with a tape, or with a seed.
struct attempt_start {
  const tape* replayed = nullptr;
  std::uint64_t seed = 0;
  settings how;
  void (*trace)(const char* line, void* data) = nullptr;
  void* trace_data = nullptr;
};

/// Runs the program here.
attempt run_here(const attempt_start& start, program_ref program);

/// Runs `body` in a child process, whose standard error becomes the report if it dies. It may use
/// so much processor time; 0: as much as it takes.
attempt run_apart(const std::function<attempt()>& body, std::uint64_t cpu_us_max);

}  // namespace beck::testing::sim
