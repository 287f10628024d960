// SPDX-License-Identifier: BSL-1.0
// The search for a smaller tape. First whole streams are calmed, then spans of them are cut off,
// calmed and deleted, from long ones to single draws, then single values lowered; again from the
// start as long as something was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "io/sim/sim_tape.hpp"

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
