// SPDX-License-Identifier: BSL-1.0
// One simulated schedule: four clients and four servers talk over four connections while a seed
// decides when what arrives, in which pieces, and who is first; with faults, also what goes wrong.
#pragma once

#include <cstdint>

namespace beck::test {

struct schedule_result {
  static constexpr unsigned connections = 4;
  static constexpr unsigned messages_each = 25;

  std::uint64_t hash = 0;
  unsigned messages = 0;     ///< echoed to a client, every byte right
  unsigned wrong_bytes = 0;  ///< read anywhere that were not sent there
  unsigned failures = 0;     ///< operations with an error that nobody asked for
  unsigned faults = 0;       ///< that strike a program with an error
  unsigned early_timers = 0;
  unsigned ends = 0;              ///< streams that a server has read to their end
  std::uint64_t outstanding = 0;  ///< operations left
  int next_descriptor = 0;        ///< lowest free number: shows what was not closed
};

/// Runs the schedule of a seed: odd ones over UNIX sockets, even ones over TCP, and some with
/// buffers of a few bytes. Everything about it follows from the seed.
schedule_result run_schedule(std::uint64_t seed);

/// The same among faults of all kinds: conversations may end early, but only with an error.
schedule_result run_faulty_schedule(std::uint64_t seed);

}  // namespace beck::test
