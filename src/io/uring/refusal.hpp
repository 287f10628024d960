// SPDX-License-Identifier: BSL-1.0
//
// Words for the ways in which a machine refuses a ring (U13). An operator who reads them should
// know which knob to turn without a search engine; the facts come first so that the wording can be
// tested without the machine.
#pragma once

#include <cstdint>
#include <string>

namespace beck::uring {

/// What an operator can change about a refusal. -1, and 0 for a limit: not known.
struct refusal_facts {
  int io_uring_disabled = -1;          ///< kernel.io_uring_disabled, Linux 6.6
  std::uint64_t locked_bytes_max = 0;  ///< RLIMIT_MEMLOCK
  std::uint64_t files_max = 0;         ///< RLIMIT_NOFILE
};

/// Reads the facts of this process and machine.
refusal_facts read_refusal_facts();

/// A line such as "io_uring_setup: EPERM (kernel.io_uring_disabled = 2)".
std::string describe_refusal(const char* call, int error, const refusal_facts& facts);

}  // namespace beck::uring
