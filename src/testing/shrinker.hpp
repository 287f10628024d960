// SPDX-License-Identifier: BSL-1.0
// One run of a check in a process of its own, and the search for the shortest tape that still
// fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include <beck/testing/check.hpp>

#include "io/sim/sim_draws.hpp"

// One run of a program in a world, here or in a child process, and what became of it.
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

// The search for a smaller tape. First whole streams are calmed, then spans of them are cut off,
// calmed and deleted, from long ones to single draws, then single values lowered; again from the
// start as long as something was found.
namespace beck::testing::sim {
using namespace detail;

/// What is asked about each candidate.
class shrink_judge {
 public:
  virtual ~shrink_judge() = default;
  /// Whether the program fails with it. May replace it by what the run has really drawn.
  virtual bool fails(sim_tape& candidate) = 0;
  /// A smaller one has been found.
  virtual void found(std::size_t tries, const sim_tape& smallest) = 0;
};

class shrinker {
 public:
  shrinker(const sim_tape& failing, shrink_judge& judge, std::size_t tries_max)
      : best_(failing), judge_(judge), tries_max_(tries_max) {}

  const sim_tape& run();
  std::size_t tries() const noexcept { return tries_; }

 private:
  /// True: it fails and is smaller, and is the best now.
  bool attempt(sim_tape candidate);
  bool exhausted() const noexcept { return tries_ >= tries_max_; }

  void calm_streams();
  void cut_tails(std::size_t stream);
  void calm_spans(std::size_t stream);
  void delete_spans(std::size_t stream);
  void lower_values(std::size_t stream);

  sim_tape best_;
  shrink_judge& judge_;
  std::size_t tries_max_;
  std::size_t tries_ = 0;
  std::set<std::uint64_t> tried_;  // fingerprints of candidates
};

}  // namespace beck::testing::sim
