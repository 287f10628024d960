// SPDX-License-Identifier: BSL-1.0
// The probe that finds out whether this kernel's io_uring is usable by making a ring and trying it,
// and the texts for the reasons why it is not.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

#include "io/uring/ring.hpp"

// The texts for a refused ring (U13). They tell an operator which setting to change without a
// search. The facts are passed in, so the texts can be tested on any machine.
namespace beck::uring {

/// The settings that can cause a refusal. -1, and 0 for a limit, mean that the setting is not
/// known.
struct refusal_facts {
  int io_uring_disabled = -1;          ///< kernel.io_uring_disabled, Linux 6.6
  std::uint64_t locked_bytes_max = 0;  ///< RLIMIT_MEMLOCK
  std::uint64_t files_max = 0;         ///< RLIMIT_NOFILE
};

/// Reads the facts of this process and machine.
refusal_facts read_refusal_facts();

/// Returns a line such as "io_uring_setup: EPERM (kernel.io_uring_disabled = 2)".
std::string describe_refusal(const char* call, int error, const refusal_facts& facts);

// The probe sets a ring up with the flags that beck wants, then with fewer, completes a no-op, a
// multishot poll and a cancel on it, and asks which operations exist. Versions are never compared:
// distributions port features back, and containers take them away (U13).

/// The outcome of `open_probed`.
struct probe_result {
  bool opened = false;
  /// The errno of a refusal; 0 when opened, or when no call failed but a feature is missing.
  int error = 0;
  std::bitset<256> opcodes;  ///< IORING_OP_* numbers that the kernel supports
  /// One line for people: the ring that was opened and the features that were given up, or the
  /// reason for the refusal.
  std::string text;
};

/// Opens `target` with the options `wanted`, or with less: flags that only make it faster are
/// dropped one by one, and queues that do not fit the memory limit are made smaller. Never drops
/// IORING_SETUP_COOP_TASKRUN: a plain ring is slower than epoll. On success `target` is open and
/// idle. It uses absolute deadlines if the kernel takes them and means the clock that this process
/// sees (not in a time namespace). Requires: `target` is closed.
/// Blocks for at most `probe_patience_ns` if the kernel takes entries and never completes them.
/// Thread: the one that may use the ring.
probe_result open_probed(ring& target, ring_kernel& kernel, const ring_options& wanted);

inline constexpr std::int64_t probe_patience_ns = 2'000'000'000;

}  // namespace beck::uring
