// SPDX-License-Identifier: BSL-1.0
// One run of a check, here or in a process of its own, and the search for the smallest tape that
// still fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include <beck/testing/check.hpp>

#include "io/sim/sim_draws.hpp"

namespace beck::testing::sim {
using namespace detail;

/// One run of a program in a world, here or in a child process, and its outcome.
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
  std::uint64_t digest = digest_basis;  ///< FNV-1a hash of their hashes
  sim_tape draws;                       ///< the draws, if they were recorded or replayed

  /// Returns whether this is a failure whose report equals that of `other`, except for numbers.
  bool same_failure_as(const attempt& other) const;
};

/// The beginning of a run: a tape, or a seed.
struct attempt_start {
  const tape* replayed = nullptr;
  std::uint64_t seed = 0;
  settings how;
  void (*trace)(const char* line, void* data) = nullptr;
  void* trace_data = nullptr;
};

/// Runs the program in this process.
attempt run_here(const attempt_start& start, program_ref program);

/// Runs `body` in a child process. If it dies, its standard error becomes the report. `cpu_us_max`:
/// the most processor time that it may use; 0: unlimited.
attempt run_apart(const std::function<attempt()>& body, std::uint64_t cpu_us_max);

}  // namespace beck::testing::sim

namespace beck::testing::sim {
using namespace detail;

/// Decides about each candidate.
class shrink_judge {
 public:
  virtual ~shrink_judge() = default;
  /// Returns whether the program fails with `candidate`. May replace it by the draws that the run
  /// has really made.
  virtual bool fails(sim_tape& candidate) = 0;
  /// Called when a smaller failing tape has been found.
  virtual void found(std::size_t tries, const sim_tape& smallest) = 0;
};

/// The search for a smaller tape. First it sets whole streams to zero. Then it cuts off ends of
/// each stream, sets spans to zero and deletes spans, from long ones down to single draws. Then it
/// lowers single values. It starts again as long as a round has found a smaller tape.
class shrinker {
 public:
  shrinker(const sim_tape& failing, shrink_judge& judge, std::size_t tries_max)
      : best_(failing), judge_(judge), tries_max_(tries_max) {}

  const sim_tape& run();
  std::size_t tries() const noexcept { return tries_; }

 private:
  /// Tries a candidate that is smaller than the best tape and was not tried before. If it fails,
  /// makes it the best one and returns true.
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
