// SPDX-License-Identifier: BSL-1.0
// The engine of a loop: it starts, attempts and finishes operations, on exclusive loops and on
// shared ones. Its parts cancel operations, open and close descriptors, make calls on files, and
// attempt what is not a stream transfer. The loop that holds it adds the mailbox, timers, signals
// and trees of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>
#include <beck/io/io_context.hpp>

#include "io/blocking/loop_jobs.hpp"
#include "io/driver/driver.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/engine/descriptor_life.hpp"
#include "io/engine/file_calls.hpp"
#include "io/engine/op_attempts.hpp"
#include "io/engine/op_cancels.hpp"
#include "io/engine/op_locks.hpp"
#include "io/shared/shared_runners.hpp"

namespace beck::detail {

/// Thread: the runner, unless a function says otherwise. A handler of a shared loop runs without
/// the loop's lock and is not the runner: its entries go to the queues of its thread.
class op_engine final : public driver_host {
 public:
  static constexpr unsigned late_entries_min = 8;  ///< entries that give the data time to arrive

  op_engine(io_loop& loop, mailbox& mail, const io_context::options& how);

  // --- starting
  /// Starts `op`: attempts it if readiness and the budget allow that, and otherwise passes it to
  /// the driver. Queues its completion if it finishes at once.
  void start(io_op& op) noexcept;
  /// As start(), but returns true if `op` has finished: then nothing was queued.
  bool start_immediate(io_op& op) noexcept;
  /// As start(), on a shared loop or from any thread.
  void start_elsewhere(io_op& op) noexcept;
  /// The command that start_elsewhere() mails.
  static void start_entry(queue_entry* entry, runner* where);
  /// Attempts `op` if readiness and the budget allow that. Returns true if `op` has its result; it
  /// is not queued then. Requires that no other operation is the current one of its direction.
  bool attempt(io_op& op) noexcept;
  /// Attempts `op`, which has not been started, from a handler of a shared loop. Returns true if
  /// `op` has its result; it is not queued then.
  bool attempt_in_handler(io_op& op) noexcept;
  /// Passes the current operation of a direction, or a call on a file, to the driver.
  void hand_over(io_op& op) noexcept;

  // --- steps
  /// Starts the next step of an operation with flag_steps whose last step was delivered. Returns
  /// true if the step has finished, or was cancelled: then nothing was queued. Requires that
  /// `op.transferred` is 0.
  bool step_again(io_op& op) noexcept;
  /// Ends an operation with flag_steps, and starts the next operation of its direction.
  void end_steps(io_op& op) noexcept;

  // --- ending
  void finish(io_op& op, int result) noexcept override;
  /// Sets the result of `op` and queues its completion.
  void queue_completion(io_op& op, int result) noexcept;

  // --- called by drivers
  void queue_attempt(io_op& op) noexcept override;
  void queue_late_attempt(io_op& op) noexcept override;
  bool list_late_attempt(io_op& op) noexcept override;
  void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept override {
    files_.take_result(op, result);
  }
  void close_if_idle(descriptor& d) noexcept override { descriptors_.close_if_idle(d); }
  void run_blocking(io_op& op) noexcept override { jobs_.run(op); }
  void pause_lock() noexcept override {
    if (shared_ != nullptr) shared_->pause_lock();
  }
  void resume_lock() noexcept override {
    if (shared_ != nullptr) shared_->lock();
  }

  // --- any thread
  /// Returns whether the caller is inside run() of a shared loop.
  bool in_handler() const noexcept { return shared_ != nullptr && shared_->running_here(); }
  /// Returns whether a thread is inside run() of a shared loop.
  bool has_threads_inside() const noexcept { return shared_ != nullptr && shared_->is_inside(); }
  /// Queues `entry` in the queue that the caller's thread runs.
  void enqueue(queue_entry* entry) noexcept {
    core_.has_own_queue() ? shared_runners::queue_here(entry) : core_.queue.push(entry);
  }
  /// Gives up the state that the kernel has for the loop, in a child of fork.
  void after_fork_in_child() noexcept {
    if (core_.is_forked_copy() && !core_.left_to_parent) [[unlikely]]
      descriptors_.give_up_all();
  }

  // --- parts
  loop_core& core() noexcept { return core_; }
  const loop_core& core() const noexcept { return core_; }
  driver& drv() const noexcept { return *driver_; }
  /// Returns the threads of a shared loop; nullptr for an exclusive one.
  shared_runners* shared() const noexcept { return shared_.get(); }
  op_locks& locks() noexcept { return locks_; }
  op_attempts& attempts() noexcept { return attempts_; }
  op_cancels& cancels() noexcept { return cancels_; }
  descriptor_life& descriptors() noexcept { return descriptors_; }
  file_calls& files() noexcept { return files_; }
  loop_jobs& jobs() noexcept { return jobs_; }

  // --- the life of the loop
  /// Makes the system and the driver.
  void open_backend(const io_context::options& how) {
    backend_selection::open(loop_, how, core_.sys, driver_);
    core_.rules.reports_urgent_data = driver_->reports_urgent_data();
  }
  /// Leaves the system, the driver and the descriptors as they are for ever, because the kernel may
  /// still write to memory of operations.
  void leak_backend() noexcept {
    static_cast<void>(driver_.release());
    static_cast<void>(core_.sys.release());
    attempts_.leak_leases();
    core_.descriptors.leak();
  }

 private:
  void count_outstanding(int change) noexcept {
    if (core_.has_own_queue()) [[unlikely]] {
      shared_runners::count_outstanding_here(change);
    } else {
      core_.outstanding += static_cast<std::uint64_t>(std::int64_t{change});
    }
  }

  bool attempt_transfer(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_shared(io_op& op, descriptor& d, direction& q) noexcept;
  /// Attempts what is not a stream transfer.
  bool attempt_rarely(io_op& op, descriptor& d, direction& q) noexcept {
    if (op.kind == op_kind::file_in_order)
      return files_.attempt_in_order(static_cast<file_operation&>(op));
    return attempts_.attempt(op, d, q);
  }
  bool attempt_current(io_op& op) noexcept;
  template <bool Late>
  static void attempt_entry(queue_entry* entry, runner* where);
  bool attempt_queued(io_op& op, bool late) noexcept;
  bool attempt_queued_locked(io_op& op, bool late) noexcept;
  bool start_undirected(io_op& op) noexcept;
  bool start_in_turn(io_op& op, descriptor& d, direction& q) noexcept;
  void start_shared(io_op& op, object_use& inside) noexcept;
  void leave_direction(io_op& op) noexcept;
  void start_waiting(direction& q) noexcept;

  loop_core core_;  // by value, and first: every operation touches it
  io_loop& loop_;
  std::unique_ptr<driver> driver_;
  // The threads of a shared loop read it all the time; the data that they write is in other cache
  // lines.
  const std::unique_ptr<shared_runners> shared_;  // null: exclusive
  op_locks locks_;
  op_attempts attempts_;
  op_cancels cancels_;
  file_calls files_;
  descriptor_life descriptors_;
  loop_jobs jobs_;
};

}  // namespace beck::detail
