// SPDX-License-Identifier: BSL-1.0
// Operations that block, as their loop sees them: it hands them to its blocking pool, or to what
// plays one, and gets them back through the mail.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>

namespace beck::detail {

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
  void leave_to_parent() noexcept;

 private:
  blocking_jobs* taker() noexcept;
  /// Of shared loops: with the descriptor's lock.
  void finish(io_op& op) noexcept;

  io_loop& loop_;
  blocking_jobs* taker_ = nullptr;       // the pool, or the driver's own
  std::unique_ptr<blocking_pool> pool_;  // made when it is first needed
};

}  // namespace beck::detail
