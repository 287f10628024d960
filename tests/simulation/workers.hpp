// SPDX-License-Identifier: BSL-1.0
// A simulated program on a context for three threads, all of them virtual: what is right on one
// thread is done on several at once, while some of them leave, stop or throw.
#pragma once

#include <beck/testing/sim.hpp>
#include <cstdint>
#include <string>

namespace beck::test {

struct workers_result {
  static constexpr int threads = 3;

  std::string broken;  ///< the first rule that was, or ""
  std::uint64_t operations = 0;
  unsigned aborted = 0;  ///< of these: ended by a cancel, a close or a stop
  unsigned thrown = 0;
  unsigned stops = 0;
  std::uint64_t outstanding = 0;
  int next_descriptor = 0;  ///< lowest free number: shows what was not closed

  /// Empty, or what is wrong.
  std::string report() const;
};

workers_result run_workers(testing::sim::world& world);

/// The same as a program to be checked.
std::string workers_program(testing::sim::world& world);

}  // namespace beck::test
