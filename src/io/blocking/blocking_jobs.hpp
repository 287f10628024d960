// SPDX-License-Identifier: BSL-1.0
// Calls that block, for operations that nothing better can be done for: name lookups, and files
// where there is no ring. Real contexts have a pool of threads for them (blocking_pool), simulated
// ones play it (sim_jobs).
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/detail/operation.hpp>

#include "io/system/system.hpp"

// Calls that block, for operations that nothing better can be done for: name lookups, and files
// where there is no ring. Real contexts have a pool of threads for them (blocking_pool), simulated
// ones play it (sim_jobs).
namespace beck::detail {

/// So many at once as job_line says; the others wait in a queue, which needs no bound because it
/// consists of the operations. They stay where they are. Thread: the runner.
class blocking_jobs {
 public:
  virtual ~blocking_jobs() = default;

  /// Takes an operation in state in_kernel; loop_jobs::finish() follows with what
  /// perform_blocking() has given. Else -errno, and nothing happened.
  virtual int submit(io_op& op) noexcept = 0;
  /// True: nobody had begun to perform it, and nobody will.
  virtual bool withdraw(io_op& op) noexcept = 0;
  /// Withdraws one of those; nullptr: there is none.
  virtual io_op* withdraw_any() noexcept = 0;
  /// Waits until nothing is being performed any more; the results are in the mail then. False: the
  /// time has passed, and whoever still performs something leaves the loop alone from now on.
  virtual bool settle(std::int64_t deadline) noexcept = 0;
};

// The call behind each kind of operation that may be performed by a thread of its own.

/// Value or -errno; may wait. Reads of `op` only what its request is, and writes nothing that the
/// runner looks at meanwhile (state, flags). Thread: any.
std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept;

}  // namespace beck::detail
