// SPDX-License-Identifier: BSL-1.0
// The engine of a loop: the life of operations and of the descriptors that they belong to, from
// their start to their completion, on exclusive loops and on shared ones. It is driven by its loop,
// which adds the turns, the mail, timers, signals and tasks.
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
#include "io/op/accept_pause.hpp"
#include "io/op/lease_pool.hpp"
#include "io/shared/shared_runners.hpp"

namespace beck::detail {

class status_operation;

/// Thread: the runner, if a function does not say otherwise. Handlers of shared loops run without
/// the loop's lock and are not the runner: what they start goes to queues of their thread.
class op_engine : public driver_host {
 public:
  static constexpr unsigned late_entries_min = 8;  ///< data may arrive while so many others run

  // --- any thread
  /// Whether the caller may touch the loop: it runs an exclusive one, or has the lock of a shared
  /// one.
  bool on_runner() const noexcept { return runner::current() == &runner_; }
  /// Whether the caller is inside run() of a shared loop.
  bool in_handler() const noexcept { return shared_ != nullptr && shared_->running_here(); }
  /// Whether no other thread may touch the loop meanwhile: the caller runs an exclusive one.
  bool runs_alone() const noexcept { return !is_shared_ && on_runner(); }
  /// Whether a thread is inside run() of a shared loop.
  bool has_threads_inside() const noexcept { return shared_ != nullptr && shared_->is_inside(); }
  /// Whether the caller is inside run(): its loop goes on, whatever it does here.
  bool runs_here() const noexcept { return on_runner() || in_handler(); }
  runner& run_state() noexcept { return runner_; }
  driver& drv() noexcept { return *driver_; }
  loop_jobs& jobs() noexcept { return jobs_; }
  /// The descriptor of objects that are closed for ever: moved-from objects, and operations without
  /// one.
  descriptor& no_descriptor() noexcept { return no_descriptor_; }
  descriptor_table& descriptors() noexcept { return descriptors_; }

  /// Queues `entry` where the caller's thread will run it.
  void enqueue(queue_entry* entry) noexcept {
    has_own_queue() ? shared_->queue_here(entry) : queue_.push(entry);
  }

  // --- starting
  /// Starts an operation: attempts it if that may be, else gives it to the driver.
  void start(io_op& op) noexcept;
  /// Makes the call of `op` if everything on the way to its file is in memory. Returns whether it
  /// has a result then.
  bool attempt_in_memory(status_operation& op) noexcept;
  /// As start(), but true if it finished and nothing was queued.
  bool start_immediate(io_op& op) noexcept;
  /// As start(), of a shared loop or from any thread.
  void start_elsewhere(io_op& op) noexcept;
  /// Tries at once if readiness, the queue and the budget allow it. True: the result is in `op`,
  /// which was not queued anywhere. Requires that `op` is the current one of its direction or that
  /// there is none.
  bool attempt(io_op& op) noexcept;
  /// Tries an operation that was not started, from a handler of a shared loop. True: it has its
  /// result, and was not queued anywhere.
  bool attempt_in_handler(io_op& op) noexcept;
  /// The next step of an operation with flag_steps, whose last step was delivered. True: it has
  /// finished too, perhaps because it was cancelled, and nothing was queued.
  bool step_again(io_op& op) noexcept;
  /// An operation with flag_steps is over: the next of its direction starts.
  void end_steps(io_op& op) noexcept;

  // --- ending
  void finish(io_op& op, int result) noexcept override;
  /// Asks for the end of one operation, wherever it is in its life; a result that is there wins.
  /// `try_first`: one that was never tried is tried once before it ends.
  void cancel(io_op& op, bool try_first) noexcept;
  /// Asks for the end of everything in flight on `d` (cancel()); what had finished keeps its
  /// result.
  std::size_t cancel_all(descriptor& d) noexcept;
  /// The deadline of `d` has passed: ends everything in flight on it with error::timeout.
  void expire(descriptor& d) noexcept;

  // --- descriptors
  /// Gives an open, non-blocking descriptor number to `d`.
  void open_descriptor(descriptor& d, int fd,
                       descriptor_nature nature = descriptor_nature::socket) noexcept;
  /// The same for files; `flags`: those of its open(2), as far as they matter here (O_DIRECT).
  void open_file(descriptor& d, int fd, unsigned flags) noexcept;
  /// Ends everything on `d` and closes it, at once or when the kernel has given back what it holds.
  void close(descriptor& d) noexcept;
  /// The same for a slot whose object is gone or has taken another one: it is free afterwards.
  void close_for_good(descriptor& d) noexcept;
  /// Takes the descriptor number out of `d` without closing it.
  int release(descriptor& d) noexcept;

  // --- what drivers call
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
  // Locks are taken in this order: the loop's, a descriptor's, a private queue's. Whoever has the
  // loop's may take several descriptors' locks; all others take one.
  class shared_lock;
  class operation_lock;

 protected:
  op_engine(io_loop& loop, const io_context::options& how);
  ~op_engine() = default;

  // --- what the loop does for its engine
  /// Starts the wait for a timer or a signal.
  virtual void start_wait(io_op& op) noexcept = 0;
  /// Ends it, if it has not ended.
  virtual void cancel_wait(io_op& op) noexcept = 0;
  /// Starts `op`, which has no direction, with the lock of a shared loop.
  virtual void start_locked(io_op& op) noexcept = 0;
  /// Disarms the deadline of `d`.
  virtual void disarm(descriptor& d) noexcept = 0;
  /// Mails an entry that runs no user code to the runner. Any thread.
  virtual void send_command(queue_entry* command) noexcept = 0;
  /// In a child of fork: gives up all that the kernel has.
  virtual void give_up_kernel_state() noexcept = 0;
  void after_fork_in_child() noexcept {
    if (is_forked_copy() && !left_to_parent_) [[unlikely]]
      give_up_kernel_state();
  }

  // --- what the engine does for its loop
  /// The result of an operation is known: queues its completion.
  void complete_with(io_op& op, int result) noexcept;
  /// Ends everything on `d`, as far as that is possible before the kernel has given it back.
  void abandon_all(descriptor& d) noexcept;
  /// In a child of fork: ends what the kernel had of `d`.
  void give_up(descriptor& d) noexcept;
  static void start_entry(queue_entry* entry, runner* where);

  runner runner_;
  std::uint64_t outstanding_ = 0;  // operations in flight, on the runner's side
  bool closing_ = false;
  bool left_to_parent_ = false;  // this is a child of fork
  std::unique_ptr<driver> driver_;
  // The threads of a shared loop read it all the time; what they write is in other lines.
  const std::unique_ptr<shared_runners> shared_;  // null: exclusive
  std::unique_ptr<lease_pool, lease_pool::releaser> leases_;
  accept_pause accepts_;
  descriptor no_descriptor_;
  loop_jobs jobs_;

 private:
  // --- whose queue and counters
  /// Whether the caller is a handler of a shared loop, without its lock.
  bool has_own_queue() const noexcept { return is_shared_ && !on_runner(); }
  context_stats& counters_here() noexcept {
    return has_own_queue() ? shared_runners::here().seen : counters_;
  }
  void count_outstanding(int change) noexcept {
    if (has_own_queue()) [[unlikely]] {
      shared_runners::here().outstanding += change;
    } else {
      outstanding_ += static_cast<std::uint64_t>(std::int64_t{change});
    }
  }

  // --- attempts
  std::ptrdiff_t make_call(io_op& op) noexcept;
  std::ptrdiff_t make_call_unlocked(io_op& op) noexcept;
  bool attempt_transfer(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_leased(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_other(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_in_order(file_operation& op) noexcept;
  bool attempt_cached(file_operation& op) noexcept;
  bool attempt_current(io_op& op) noexcept;
  void hand_over(io_op& op) noexcept;
  bool pause_if_exhausted(io_op& op) noexcept;
  void leave_pause(io_op& op) noexcept;
  static void attempt_entry(queue_entry* entry, runner* where);
  static void late_attempt_entry(queue_entry* entry, runner* where);
  static void deliver_attempt(io_op& op, runner* where, bool late);

  // --- starts and ends
  bool start_undirected(io_op& op) noexcept;
  bool start_file(file_operation& op) noexcept;
  void start_shared(io_op& op) noexcept;
  void hold_direction(io_op& op) noexcept;
  void leave_direction(io_op& op) noexcept;
  void unlink_file(file_operation& op) noexcept;
  int take_opened(file_operation& op, int fd) noexcept;
  static void deliver_entry(queue_entry* entry, runner* where);
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

/// The lock of a shared loop. Who has it is the runner.
class op_engine::shared_lock {
 public:
  explicit shared_lock(op_engine& engine) noexcept
      : engine_(engine), bound_((engine.shared_->lock(), engine.runner_)) {}
  ~shared_lock() { engine_.shared_->unlock(); }
  shared_lock(const shared_lock&) = delete;
  shared_lock& operator=(const shared_lock&) = delete;

 private:
  op_engine& engine_;
  runner::binding bound_;
};

/// The locks that are needed to touch an operation of `d`; of an exclusive loop none.
class op_engine::operation_lock {
 public:
  operation_lock(op_engine& engine, descriptor& d, op_kind kind) noexcept
      : engine_(engine.is_shared_ ? &engine : nullptr), d_(d) {
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
