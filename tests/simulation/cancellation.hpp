// SPDX-License-Identifier: BSL-1.0
// A simulated program about cancellation: a writer and a reader whose every operation may be cut
// short, by time limits, stop requests and races, at any point of its life; and a mutex that both
// want, and may not get in time.
#pragma once

#include <beck/testing/sim.hpp>
#include <cstdint>
#include <string>

namespace beck::test {

struct cancellation_result {
  unsigned operations = 0;
  unsigned cancelled = 0;      ///< of these: ended by a limit, a stop or a lost race
  unsigned wrong_bytes = 0;    ///< read that were not sent there
  unsigned wrong_errors = 0;   ///< ends that nothing explains
  unsigned two_in_mutex = 0;   ///< times a holder met another one
  std::uint64_t sent = 0;      ///< as the writer was told
  std::uint64_t received = 0;  ///< as the reader was told
  std::uint64_t outstanding = 0;
  bool ended = false;

  /// Empty, or what is wrong.
  std::string report() const;
};

cancellation_result run_cancellation(testing::sim::world& world);

/// The same as a program to be checked.
std::string cancellation_program(testing::sim::world& world);

}  // namespace beck::test
