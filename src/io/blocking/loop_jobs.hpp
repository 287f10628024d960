// SPDX-License-Identifier: BSL-1.0
// Operations that block because there is no better way to perform them: name lookups, and files
// where there is no ring. Their loop hands them to a pool of threads (blocking_pool) or, in a
// simulation, to sim_jobs, and gets them back through its mailbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>

#include "io/system/system.hpp"

namespace beck::detail {

/// Performs blocking operations. job_line says how many at the same time; the others wait in a
/// queue, which needs no bound because it links the operations themselves. Thread: the runner.
class blocking_jobs {
 public:
  virtual ~blocking_jobs() = default;

  /// Takes an operation in state in_kernel. Returns 0; then loop_jobs::finish() follows with the
  /// result of perform_blocking(). Returns -errno if it did not take the operation.
  virtual int submit(io_op& op) noexcept = 0;
  /// Takes `op` back. Returns true if no thread has begun to perform it; none will.
  virtual bool withdraw(io_op& op) noexcept = 0;
  /// Takes any operation back that no thread has begun to perform; nullptr if there is none.
  virtual io_op* withdraw_any() noexcept = 0;
  /// Waits until no operation is being performed; then all results are in the mailbox. Returns
  /// false if `deadline` has passed; threads that are still inside a call do not touch the loop
  /// afterwards.
  virtual bool wait_until_idle(std::int64_t deadline) noexcept = 0;
};

// --- the call behind each kind of blocking operation ---------------------------------------------

/// Makes the call of `op`; may block. Returns its value or -errno. Reads only the request in `op`,
/// and writes no field that the runner reads meanwhile (state, flags). Thread: any.
std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept;

// --- the loop's side ---------------------------------------------------------------------------

class blocking_jobs;
class blocking_pool;
class io_loop;

/// The blocking operations of a loop: hands them to the pool, or to the driver's own blocking_jobs,
/// and gets them back through the mailbox. Thread: the runner, except where noted.
class loop_jobs {
 public:
  explicit loop_jobs(io_loop& loop) noexcept;
  ~loop_jobs();
  loop_jobs(const loop_jobs&) = delete;
  loop_jobs& operator=(const loop_jobs&) = delete;

  /// Takes `op` as a driver's submit() does: perform_blocking() makes its call on another thread,
  /// then it finishes.
  void run(io_op& op) noexcept;
  /// Cancels an operation that run() took, if no thread performs it yet; otherwise it ends when its
  /// call returns.
  void cancel(io_op& op) noexcept;
  /// Puts the result into `op` and `op` into the mailbox. Called by a thread of the pool after the
  /// call.
  void performed(io_op& op, std::ptrdiff_t result) noexcept;
  /// Finishes `op`, whose call has been made and whose result is in place.
  void take_back(io_op& op) noexcept;
  /// Calls take_back() for an entry of the mailbox that performed() has pushed.
  static void performed_entry(queue_entry* entry, runner* where);

  // --- the end of the loop
  /// Cancels all operations that no thread performs yet.
  void cancel_all() noexcept;
  /// Waits for the other operations. Returns false if `deadline` has passed and a thread is still
  /// inside a call.
  bool reap(std::int64_t deadline) noexcept;
  /// Ends the threads of the pool. Requires that reap() was called.
  void end_threads() noexcept;
  /// In a forked child, in which the pool's threads do not exist: cancels the operations that the
  /// parent's pool had.
  void after_fork_in_child() noexcept;

 private:
  blocking_jobs* taker() noexcept;
  /// Finishes an operation whose result is in place. On a shared loop, requires the descriptor's
  /// lock.
  void finish(io_op& op) noexcept;

  io_loop& loop_;
  blocking_jobs* taker_ = nullptr;       // the pool, or the driver's own
  std::unique_ptr<blocking_pool> pool_;  // made when it is first needed
};

}  // namespace beck::detail
