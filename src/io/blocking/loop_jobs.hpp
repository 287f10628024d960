// SPDX-License-Identifier: BSL-1.0
// Operations that block because there is nothing better for them: name lookups, and files where
// there is no ring. Their loop hands them to a pool of threads (blocking_pool), or to the simulator
// (sim_jobs), and gets them back through its mail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>

#include "io/system/system.hpp"

// Calls that block, for operations that nothing better can be done for: name lookups, and files
// where there is no ring. Real contexts have a pool of threads for them (blocking_pool), simulated
// ones play it (sim_jobs).
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
  virtual bool wait_until_idle(std::int64_t deadline) noexcept = 0;
};

// The call behind each kind of operation that may be performed by a thread of its own.

/// Value or -errno; may wait. Reads of `op` only what its request is, and writes nothing that the
/// runner looks at meanwhile (state, flags). Thread: any.
std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept;

// Operations that block, as their loop sees them: it hands them to its blocking pool, or to what
// plays one, and gets them back through the mail.

class blocking_jobs;
class blocking_pool;
class io_loop;

/// Thread: the runner, if it does not say otherwise.
class loop_jobs {
 public:
  explicit loop_jobs(io_loop& loop) noexcept;
  ~loop_jobs();
  loop_jobs(const loop_jobs&) = delete;
  loop_jobs& operator=(const loop_jobs&) = delete;

  /// As a driver's submit(): perform_blocking() makes the operation's call, then it finishes.
  void run(io_op& op) noexcept;
  /// Ends one that run() took, if nobody performs it yet; else it has to end by itself.
  void cancel(io_op& op) noexcept;
  /// From a thread of the pool: the call has been made.
  void performed(io_op& op, std::ptrdiff_t result) noexcept;
  /// The call has been made, and the runner knows of it; the result is in place.
  void take_back(io_op& op) noexcept;
  /// What the mail holds of those.
  static void performed_entry(queue_entry* entry, runner* where);

  // --- the end of the loop
  /// Ends everything that nobody performs yet.
  void cancel_all() noexcept;
  /// Waits for the rest; false: `deadline` has passed, and a thread is still inside a call.
  bool reap(std::int64_t deadline) noexcept;
  /// Ends the threads. Requires reap().
  void end_threads() noexcept;
  /// In a child of fork: the threads are the parent's. Ends what they had.
  void after_fork_in_child() noexcept;

 private:
  blocking_jobs* taker() noexcept;
  /// Of shared loops: with the descriptor's lock.
  void finish(io_op& op) noexcept;

  io_loop& loop_;
  blocking_jobs* taker_ = nullptr;       // the pool, or the driver's own
  std::unique_ptr<blocking_pool> pool_;  // made when it is first needed
};

}  // namespace beck::detail
