// SPDX-License-Identifier: BSL-1.0
// Whether a ring of this kernel is usable, found by making one and trying it; and the words for
// each reason why it is not.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

#include "io/uring/ring.hpp"

// Words for the ways in which a machine refuses a ring (U13). An operator who reads them should
// know which knob to turn without a search engine; the facts come first so that the wording can be
// tested without the machine.
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

// Finds out what io_uring the running kernel gives us, by doing: sets a ring up with the flags we
// want, then with fewer, lets a no-op, a multishot poll and a cancel complete on it, and asks which
// operations exist. Versions are never compared: distributions carry features back, and containers
// take them away (U13).

/// The outcome of `open_probed`.
struct probe_result {
  bool opened = false;
  int error = 0;  ///< the errno behind a refusal; 0 when opened, or when nothing failed but
                  ///< something is missing
  std::bitset<256> opcodes;  ///< IORING_OP_* numbers the kernel supports
  std::string text;  ///< one line for people: what was opened and what had to be given up, or why
                     ///< nothing was
};

/// Opens `target` with `wanted`, or with less: flags that only make it faster are dropped one by
/// one, and a queue that does not fit the memory limit is made smaller. Never drops
/// IORING_SETUP_COOP_TASKRUN: a plain ring is slower than epoll. On success `target` is open and
/// idle, and is told points in time where the kernel takes them and means the clock that this
/// process sees (not in a time namespace). Requires: `target` is closed.
/// Blocks at most `probe_patience_ns` for a kernel that takes entries and never completes them.
/// Thread: the one that may use the ring.
probe_result open_probed(ring& target, ring_kernel& kernel, const ring_options& wanted);

inline constexpr std::int64_t probe_patience_ns = 2'000'000'000;

}  // namespace beck::uring
