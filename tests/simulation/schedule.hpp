// SPDX-License-Identifier: BSL-1.0
// One simulated schedule: four clients and four servers talk over four connections while a seed
// decides when what arrives, in which pieces, and who is first; with faults, also what goes wrong.
#pragma once

#include <beck/testing/sim.hpp>
#include <cstdint>
#include <string>

namespace beck::test {

struct schedule_result {
  static constexpr unsigned connections = 4;
  static constexpr unsigned messages_each = 25;

  unsigned messages = 0;     ///< echoed to a client, every byte right
  unsigned wrong_bytes = 0;  ///< read anywhere that were not sent there
  unsigned failures = 0;     ///< operations with an error that nobody asked for
  unsigned early_timers = 0;
  unsigned ends = 0;              ///< streams that a server has read to their end
  std::uint64_t outstanding = 0;  ///< operations left
  int next_descriptor = 0;        ///< lowest free number: shows what was not closed
  std::uint64_t faults = 0;       ///< that strike a program with an error

  /// Empty, or what is wrong.
  std::string report() const;
};

/// Runs the schedule of a world: half of them over UNIX sockets, the others over TCP, and some with
/// buffers of a few bytes.
schedule_result run_schedule(testing::sim::world& world);

/// The same among faults of all kinds: conversations may end early, but only with an error, and
/// only if there was a fault.
schedule_result run_faulty_schedule(testing::sim::world& world);

/// The same as programs to be checked.
std::string schedule_program(testing::sim::world& world);
std::string faulty_schedule_program(testing::sim::world& world);

}  // namespace beck::test
