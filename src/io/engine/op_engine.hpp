// SPDX-License-Identifier: BSL-1.0
// The engine of a loop: it starts, attempts, finishes and cancels operations, and opens and closes
// their descriptors, on exclusive loops and on shared ones. Its loop drives it, and adds the
// mailbox, timers, signals and trees of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>
#include <beck/io/io_context.hpp>

#include "io/blocking/loop_jobs.hpp"
#include "io/driver/driver.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/op/accept_pause.hpp"
#include "io/op/lease_pool.hpp"
#include "io/shared/shared_runners.hpp"

namespace beck::detail {

class status_operation;

/// Thread: the runner, unless a function says otherwise. A handler of a shared loop runs without
/// the loop's lock and is not the runner: its entries go to the queues of its thread.
class op_engine : public driver_host {
 public:
  static constexpr unsigned late_entries_min = 8;  ///< entries that give the data time to arrive

  // --- any thread
  bool on_runner() const noexcept { return core_.on_runner(); }
  /// Returns whether the caller is inside run() of a shared loop.
  bool in_handler() const noexcept { return shared_ != nullptr && shared_->running_here(); }
  /// Returns whether the caller runs an exclusive loop, so that no other thread may touch the loop
  /// meanwhile.
  bool runs_alone() const noexcept { return !core_.is_shared && on_runner(); }
  /// Returns whether a thread is inside run() of a shared loop.
  bool has_threads_inside() const noexcept { return shared_ != nullptr && shared_->is_inside(); }
  /// Returns whether the caller is the runner or inside run(), so that the loop will run the
  /// entries that the caller queues.
  bool runs_here() const noexcept { return on_runner() || in_handler(); }
  loop_core& core() noexcept { return core_; }
  const loop_core& core() const noexcept { return core_; }
  runner& run_state() noexcept { return core_.run_state; }
  system& sys() noexcept { return *core_.sys; }
  driver& drv() noexcept { return *driver_; }
  loop_jobs& jobs() noexcept { return jobs_; }
  /// Returns the descriptor of vacant objects, such as moved-from ones, and of operations without a
  /// descriptor. It is never open.
  descriptor& no_descriptor() noexcept { return no_descriptor_; }

  /// Queues `entry` in the queue that the caller's thread runs.
  void enqueue(queue_entry* entry) noexcept {
    core_.has_own_queue() ? shared_->queue_here(entry) : core_.queue.push(entry);
  }

  // --- starting
  /// Starts `op`: attempts it if readiness and the budget allow that, and otherwise passes it to
  /// the driver. Queues its completion if it finishes at once.
  void start(io_op& op) noexcept;
  /// Makes the call of `op` if everything on the path to its file is in memory. Returns whether
  /// `op` has a result now.
  bool attempt_in_memory(status_operation& op) noexcept;
  /// As start(), but returns true if `op` has finished: then nothing was queued.
  bool start_immediate(io_op& op) noexcept;
  /// As start(), on a shared loop or from any thread.
  void start_elsewhere(io_op& op) noexcept;
  /// Attempts `op` if readiness and the budget allow that. Returns true if `op` has its result; it
  /// is not queued then. Requires that no other operation is the current one of its direction.
  bool attempt(io_op& op) noexcept;
  /// Attempts `op`, which has not been started, from a handler of a shared loop. Returns true if
  /// `op` has its result; it is not queued then.
  bool attempt_in_handler(io_op& op) noexcept;
  /// Starts the next step of an operation with flag_steps whose last step was delivered. Returns
  /// true if the step has finished, or was cancelled: then nothing was queued. Requires that
  /// `op.transferred` is 0.
  bool step_again(io_op& op) noexcept;
  /// Ends an operation with flag_steps, and starts the next operation of its direction.
  void end_steps(io_op& op) noexcept;

  // --- ending
  void finish(io_op& op, int result) noexcept override;
  /// Requests the cancellation of `op`, whatever its state. A result that is already known is
  /// delivered. `try_first`: an operation that is listed or in the run queue is attempted once
  /// before it ends.
  void cancel(io_op& op, bool try_first) noexcept;
  /// Requests the cancellation of all operations in flight on `d`. Results that are already known
  /// are delivered. Returns the number of operations.
  std::size_t cancel_all(descriptor& d) noexcept;
  /// Ends the operations in flight in the directions of `d` with error::timeout, because its
  /// deadline has passed.
  void expire(descriptor& d) noexcept;

  // --- descriptors
  /// Opens `d` with the descriptor number `fd`, which is open and non-blocking.
  void open_descriptor(descriptor& d, int fd,
                       descriptor_nature nature = descriptor_nature::socket) noexcept;
  /// Opens `d` with the file `fd`. `flags`: those of its open(2), of which only O_DIRECT matters.
  void open_file(descriptor& d, int fd, unsigned flags) noexcept;
  /// Ends all operations on `d` and closes it: at once, or when the kernel has returned the
  /// operations that it holds.
  void close(descriptor& d) noexcept;
  /// As close(), and frees the slot afterwards: its object is gone, or has taken another slot.
  void close_for_good(descriptor& d) noexcept;
  /// Ends all operations on `d` and returns its descriptor number, which stays open. Returns -EBADF
  /// if `d` is not open, and -EBUSY if the kernel still works for an operation on it.
  int release(descriptor& d) noexcept;

  // --- called by drivers
  void queue_attempt(io_op& op) noexcept override;
  void queue_late_attempt(io_op& op) noexcept override;
  bool list_late_attempt(io_op& op) noexcept override;
  void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept override;
  void run_blocking(io_op& op) noexcept override { jobs_.run(op); }
  void cancel_blocking(io_op& op) noexcept override { jobs_.cancel(op); }
  void close_if_idle(descriptor& d) noexcept override;
  void pause_lock() noexcept override {
    if (shared_ != nullptr) shared_->pause_lock();
  }
  void resume_lock() noexcept override {
    if (shared_ != nullptr) shared_->lock();
  }

  // --- shared loops
  // Locks are taken in this order: the loop's, a descriptor's, a private queue's. A thread that
  // holds the loop's lock may take the locks of several descriptors; other threads take one.
  class shared_lock;
  class operation_lock;

 protected:
  op_engine(io_loop& loop, mailbox& mail, const io_context::options& how);
  ~op_engine() = default;

  // --- implemented by the loop
  /// Starts the wait for a timer or a signal.
  virtual void start_wait(io_op& op) noexcept = 0;
  /// Cancels the wait for a timer or a signal, if it has not ended.
  virtual void cancel_wait(io_op& op) noexcept = 0;
  /// Starts `op`, which has no direction, under the lock of a shared loop.
  virtual void start_locked(io_op& op) noexcept = 0;
  /// Disarms the deadline of `d`.
  virtual void disarm(descriptor& d) noexcept = 0;
  /// Mails `command`, which runs no user code, to the runner. Thread: any.
  virtual void send_command(queue_entry* command) noexcept = 0;
  /// Ends all operations that the kernel holds, in a child of fork.
  virtual void give_up_kernel_state() noexcept = 0;
  void after_fork_in_child() noexcept {
    if (core_.is_forked_copy() && !core_.left_to_parent) [[unlikely]]
      give_up_kernel_state();
  }

  // --- called by the loop
  /// Sets the result of `op` and queues its completion.
  void queue_completion(io_op& op, int result) noexcept;
  /// Ends the operations on `d` that the kernel does not hold, and requests the cancellation of
  /// calls on files. The driver ends the others when it detaches `d`.
  void abandon_all(descriptor& d) noexcept;
  /// Ends the operations on `d` that the kernel held, in a child of fork. The caller closes `d`
  /// later if it was closing.
  void give_up(descriptor& d) noexcept;
  static void start_entry(queue_entry* entry, runner* where);

  loop_core core_;
  std::unique_ptr<driver> driver_;
  // The threads of a shared loop read it all the time; the data that they write is in other cache
  // lines.
  const std::unique_ptr<shared_runners> shared_;  // null: exclusive
  std::unique_ptr<lease_pool, lease_pool::releaser> leases_;
  accept_pause accepts_;
  descriptor no_descriptor_;
  loop_jobs jobs_;

 private:
  // --- the queue and the counters of the calling thread
  context_stats& counters_here() noexcept {
    return core_.has_own_queue() ? shared_runners::here().seen : core_.counters;
  }
  void count_outstanding(int change) noexcept {
    if (core_.has_own_queue()) [[unlikely]] {
      shared_->count_outstanding_here(change);
    } else {
      core_.outstanding += static_cast<std::uint64_t>(std::int64_t{change});
    }
  }

  // --- attempts
  std::ptrdiff_t make_call(io_op& op) noexcept;
  std::ptrdiff_t make_call_unlocked(io_op& op) noexcept;
  bool attempt_transfer(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_leased(io_op& op, descriptor& d, direction& q) noexcept;
  [[gnu::noinline]] bool attempt_other(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_in_order(file_operation& op) noexcept;
  bool attempt_cached(file_operation& op) noexcept;
  bool attempt_shared(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_current(io_op& op) noexcept;
  void hand_over(io_op& op) noexcept;
  bool pause_if_exhausted(io_op& op) noexcept;
  void leave_pause(io_op& op) noexcept;
  static void attempt_entry(queue_entry* entry, runner* where);
  static void late_attempt_entry(queue_entry* entry, runner* where);
  static void deliver_attempt(io_op& op, runner* where, bool late);
  bool attempt_queued(io_op& op, bool late) noexcept;
  bool attempt_queued_locked(io_op& op, bool late) noexcept;

  // --- starts and ends
  bool start_undirected(io_op& op) noexcept;
  bool start_in_turn(io_op& op, descriptor& d, direction& q) noexcept;
  bool start_file(file_operation& op) noexcept;
  void start_shared(io_op& op) noexcept;
  void hold_direction(io_op& op) noexcept;
  void leave_direction(io_op& op) noexcept;
  void start_waiting(direction& q) noexcept;
  void unlink_file(file_operation& op) noexcept;
  int take_opened(file_operation& op, int fd) noexcept;
  static void deliver_entry(queue_entry* entry, runner* where);
  static void deliver_locked(io_op& op, runner* where);
  static std::size_t mark_cancelled(entry_queue& waiting,
                                    std::uint8_t how = io_op::flag_cancelled) noexcept;
  void cancel_one(io_op& op) noexcept;
  void cancel_directed(io_op& op, bool try_first) noexcept;
  void abandon(direction& q) noexcept;

  // --- descriptors
  void open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept;
  void open_file_locked(descriptor& d, int fd, unsigned flags) noexcept;
  void close_now(descriptor& d) noexcept;
  void wait_until_untried(descriptor& d) noexcept;
  void unlock_all(descriptor& d) noexcept;
  void relock_all(descriptor& d) noexcept;
};

/// Holds the lock of a shared loop. The thread that holds it is the runner.
class op_engine::shared_lock {
 public:
  explicit shared_lock(op_engine& engine) noexcept
      : engine_(engine), bound_((engine.shared_->lock(), engine.core_.run_state)) {}
  ~shared_lock() { engine_.shared_->unlock(); }
  shared_lock(const shared_lock&) = delete;
  shared_lock& operator=(const shared_lock&) = delete;

 private:
  op_engine& engine_;
  runner::binding bound_;
};

/// Holds the locks that are needed to touch an operation of `d`; none on an exclusive loop.
class op_engine::operation_lock {
 public:
  operation_lock(op_engine& engine, descriptor& d, op_kind kind) noexcept
      : engine_(engine.core_.is_shared ? &engine : nullptr), d_(d) {
    if (engine_ != nullptr) [[unlikely]]
      acquire(kind);
  }
  ~operation_lock() {
    if (engine_ != nullptr) [[unlikely]]
      release();
  }
  operation_lock(const operation_lock&) = delete;
  operation_lock& operator=(const operation_lock&) = delete;

 private:
  void acquire(op_kind kind) noexcept;
  void release() noexcept;

  op_engine* engine_;
  descriptor& d_;
  std::optional<shared_lock> all_;
};

}  // namespace beck::detail
