// SPDX-License-Identifier: BSL-1.0
// The interface of a loop to its driver: the driver reports the outcome of operations, passes calls
// that block to threads, and unlocks a shared loop while it is in the kernel.
#pragma once

#include <cstddef>

#include <beck/detail/operation.hpp>

namespace beck::detail {

class file_operation;

/// Thread: the runner. No function runs user code, except for a custom executor's post().
class driver_host {
 public:
  driver_host(const driver_host&) = delete;
  driver_host& operator=(const driver_host&) = delete;

  // --- the outcome of operations
  /// Queues the completion of `op` with this result, and starts the next operation of its
  /// direction.
  virtual void finish(io_op& op, int result) noexcept = 0;
  /// Queues an attempt of `op`.
  virtual void queue_attempt(io_op& op) noexcept = 0;
  /// Queues an attempt of a read that was listed, although no event says that it will find data.
  virtual void queue_late_attempt(io_op& op) noexcept = 0;
  /// Lists a read of a shared loop for a late attempt, or queues one. Returns false if only an
  /// event can help the read.
  virtual bool list_late_attempt(io_op& op) noexcept = 0;
  /// Continues a call on a file with the result of its last step, or finishes it.
  virtual void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept = 0;
  /// Closes `d` if it is closing and the kernel holds nothing of it. Called when the kernel has
  /// returned an operation or the poll of `d`.
  virtual void close_if_idle(descriptor& d) noexcept = 0;

  // --- calls that block
  /// Makes the call of `op` on a thread: loop_jobs::run().
  virtual void run_blocking(io_op& op) noexcept = 0;

  // --- around a system call
  /// Unlocks a shared loop for the duration of a system call, in which the driver does not touch
  /// the loop.
  virtual void pause_lock() noexcept = 0;
  /// Locks it again.
  virtual void resume_lock() noexcept = 0;

 protected:
  driver_host() = default;
  ~driver_host() = default;
};

}  // namespace beck::detail
