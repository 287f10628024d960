// SPDX-License-Identifier: BSL-1.0
// The loop behind an io_context: run queue, mailbox, timers, descriptors and one driver. It is
// exclusive: whoever holds the runner slot may touch it; all others go through the mailbox.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>
#include <beck/detail/scope.hpp>
#include <beck/io/io_context.hpp>

#include "io/blocking/loop_jobs.hpp"
#include "io/driver/driver.hpp"
#include "io/driver/driver_host.hpp"
#include "io/loop/busy_poll.hpp"
#include "io/loop/mailbox.hpp"
#include "io/loop/run_end.hpp"
#include "io/loop/runner_slot.hpp"
#include "io/loop/timer_queue.hpp"
#include "io/op/accept_pause.hpp"
#include "io/op/lease_pool.hpp"
#include "io/shared/shared_runners.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {

class signal_wait;
class timer_operation;
struct signal_state;

class io_loop final : public driver_host {
 public:
  /// Entries of one generation that run although the kernel was asked in between, and bounds past
  /// which only timers and mail are looked at.
  static constexpr unsigned generation_entries_min = 64;
  static constexpr unsigned generation_entries_max = 1024;
  static constexpr std::int64_t generation_ns_max = 100'000;
  static constexpr std::int64_t no_deadline = INT64_MAX;
  static constexpr unsigned late_entries_min = 8;  ///< data may arrive while so many others run

  io_loop(io_context& context, const io_context::options& how);
  ~io_loop();
  io_loop(const io_loop&) = delete;
  io_loop& operator=(const io_loop&) = delete;

  // --- running
  /// Runs until `handlers` have run, `deadline` has passed, work has run out or stop(); `blocking`
  /// false: until nothing is ready.
  std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking);
  /// A part of run(), for a caller that runs several loops by turns: what is due, about `handlers`
  /// handlers, and one visit that does not wait. Does not stop the loop when work has run out.
  /// Returns how many handlers ran.
  std::size_t step(std::size_t handlers);
  /// Whether run() would not return at once.
  bool has_work() const noexcept { return !stopped() && (has_queued() || !out_of_work()); }
  /// When a wait would have to end: `no_deadline` if only an event or mail can end it.
  std::int64_t next_deadline() noexcept;
  /// The first half of the destructor, for loops that may hold objects of one another: ends and
  /// destroys everything, and lets nothing start. False: there was nothing any more.
  bool clear() noexcept;
  void stop() noexcept;
  void restart() noexcept { end_.restart(); }
  bool stopped() const noexcept { return end_.stopped(); }

  // --- any thread
  void post(queue_entry* entry) noexcept {
    if (on_runner()) {
      queue_.push(entry);
    } else {
      mail_.push(entry);
    }
  }
  /// Whether the caller may touch the loop: it runs an exclusive one, or has the lock of a shared
  /// one. Handlers of shared loops run without, and find themselves off the runner.
  bool on_runner() const noexcept { return runner::current() == &runner_; }
  /// Whether the caller is inside run(): its loop goes on, whatever it does here.
  bool runs_here() const noexcept { return on_runner() || (is_shared() && in_handler()); }
  /// Of a shared loop.
  unsigned threads_max() const noexcept { return shared_->threads_max(); }
  /// run() by one of a driver's own threads.
  std::size_t run_as_thread(std::size_t handlers, std::int64_t deadline, bool blocking) {
    return shared_->run_as_thread(handlers, deadline, blocking);
  }
  /// Whoever waits inside run() looks round.
  void call_everybody() noexcept { shared_->call_everybody(); }
  /// The loop that runs an entry.
  static io_loop& of(runner& where) noexcept {
    return *static_cast<io_loop*>(where.ambient->executor().target());
  }
  void work(long change) noexcept;
  /// An object that needs no descriptor, such as a timer, begins its life, or ends it.
  void count_object(int change) noexcept {
    if (on_runner()) {
      objects_here_ += change;
    } else {
      objects_elsewhere_.fetch_add(change, std::memory_order_relaxed);
    }
  }

  /// Calls `action(*this)` as the runner: at once if the caller is it or nobody is; false
  /// otherwise.
  template <class Action>
  bool as_runner(Action&& action) noexcept;
  /// Orders in the mail do not wait for the next run(): if nobody runs the loop now, the caller
  /// carries them out.
  void carry_out_orders() noexcept;
  /// Puts an order into the mail, for the runner that kept the caller from carrying it out itself
  /// or, if that has left meanwhile, for the caller.
  void send_order(queue_entry* order) noexcept {
    if (inherited()) [[unlikely]]
      return;  // nobody will ever carry it out
    mail_.push(order);
    carry_out_orders();
  }

  // --- a child of fork
  /// Whether another thread was inside the loop at the fork. Anything may be half changed then, for
  /// ever: as_runner() does nothing, and of what is destroyed only the descriptor is closed.
  bool in_doubt() const noexcept { return inherited() && is_in_doubt(); }
  void close_in_doubt(descriptor& d) noexcept;
  /// Ends a child of fork that is about to run the loop.
  void expect_own_process() const noexcept;
  /// Closes everything that is open, and nothing else; the loop is never touched again.
  void close_all_handles() noexcept;

  // --- shared loops, by threads that are off the runner
  // Locks are taken in this order: the loop's, a descriptor's, a private queue's. Whoever has the
  // loop's may take several descriptors' locks; all others take one.
  class shared_lock;
  class operation_lock;
  void start_shared(io_op& op) noexcept;
  bool attempt_inline_shared(io_op& op) noexcept;
  bool in_handler() const noexcept { return shared_->running_here(); }
  bool list_late_attempt(io_op& op) noexcept override;
  void post_shared(queue_entry* entry) noexcept;
  void adopt_shared(owned_tree& tree) noexcept;
  void disown_shared(owned_tree& tree) noexcept;
  bool arm_shared(timer_entry& entry) noexcept;
  void disarm_shared(timer_entry& entry) noexcept;
  /// Around what a driver does without touching the loop.
  void pause_lock() noexcept override {
    if (is_shared()) shared_->pause_lock();
  }
  void resume_lock() noexcept override {
    if (is_shared()) shared_->lock();
  }

  // --- the runner
  /// Starts an operation: attempts it if that may be, else gives it to the driver.
  void start(io_op& op) noexcept;
  void start_elsewhere(io_op& op) noexcept;
  /// Tries at once if readiness, the queue and the budget allow it. True: the result is in `op`,
  /// which was not queued anywhere. Requires that `op` is the current one of its direction or that
  /// there is none. Transfers of shared loops: attempt_shared().
  bool attempt(io_op& op) noexcept;
  /// As start(), but true if it finished and nothing was queued.
  bool start_immediate(io_op& op) noexcept;
  /// The next step of an operation with flag_steps, whose last step was delivered. True: it has
  /// finished too and nothing was queued. Requires that it was not cancelled.
  bool step_again(io_op& op) noexcept;
  /// Whether an operation with flag_steps was cancelled after its last step; of a shared loop
  /// step_again() looks.
  bool cancelled_between_steps(const io_op& op) const noexcept {
    return !is_shared() && (op.flags & io_op::flag_cancelled) != 0;
  }
  /// An operation with flag_steps is over: the next of its direction starts.
  void end_steps(io_op& op) noexcept;
  /// The result of an operation is known: queues its completion and starts the next of its
  /// direction.
  void finish(io_op& op, int result) noexcept override;
  /// Everything on `d` has to end at `when`; never: without a limit. False if there is no memory.
  bool expire_at(descriptor& d, std::int64_t when) noexcept;
  /// Asks for the end of everything in flight on `d` (cancel()); what had finished keeps its
  /// result.
  std::size_t cancel_all(descriptor& d) noexcept;
  /// Ends everything on `d` and closes it, at once or when the kernel has given back what it holds.
  void close(descriptor& d) noexcept;
  /// The same for a slot whose object is gone or has taken another one: it is free afterwards.
  void close_for_good(descriptor& d) noexcept;
  /// Gives an open, non-blocking descriptor number to `d`.
  void open_descriptor(descriptor& d, int fd,
                       descriptor_nature nature = descriptor_nature::socket) noexcept;
  /// Takes the descriptor number out of `d` without closing it.
  int release(descriptor& d) noexcept;
  void close_if_idle(descriptor& d) noexcept override;
  void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept override;
  /// As open_descriptor(), for files.
  void open_file(descriptor& d, int fd) noexcept;

  std::size_t cancel_waits(timer_state& timer, std::size_t most) noexcept;
  /// Asks for the end of one operation, wherever it is in its life; a result that is there wins.
  /// `try_first`: one that was never tried is tried once before it ends.
  void cancel(io_op& op, bool try_first) noexcept;
  void cancel_signal_waits(signal_state& set) noexcept;
  /// Takes a wait out of its set.
  void end_signal_wait(signal_wait& op, int result) noexcept;
  /// For whoever waits for a point in time without being an operation: it holds no outstanding
  /// work.
  timer_queue& timers() noexcept { return timers_; }

  void run_blocking(io_op& op) noexcept override { jobs_.run(op); }
  void cancel_blocking(io_op& op) noexcept override { jobs_.cancel(op); }

  void queue_attempt(io_op& op) noexcept override;
  void queue_late_attempt(io_op& op) noexcept override;
  void enqueue(queue_entry* entry) noexcept { queue_.push(entry); }

  // --- parts
  driver& drv() noexcept { return *driver_; }
  runner& run_state() noexcept { return runner_; }
  mailbox& mail() noexcept override { return mail_; }
  loop_jobs& jobs() noexcept { return jobs_; }
  /// The descriptor of objects that are closed for ever: moved-from objects, and operations without
  /// one.
  descriptor& no_descriptor() noexcept { return no_descriptor_; }
  descriptor_table& descriptors() noexcept { return descriptors_; }
  timer_state& no_timer() noexcept { return no_timer_; }
  signal_state& no_signals() noexcept { return *no_signals_; }
  context_stats stats() const noexcept;
  void log(const char* line) noexcept;
  any_io_executor executor() noexcept {
    return any_io_executor(is_shared() ? &io_context::shared_loop_table : &io_context::loop_table,
                           this);
  }
  static const executor_table& executor_table_of_loops() noexcept { return io_context::loop_table; }
  static const executor_table& executor_table_of_shared_loops() noexcept {
    return io_context::shared_loop_table;
  }
  io_context& context() noexcept { return context_; }

  /// For dumps: what is in the queue, and the trees, oldest first.
  template <class See>
  void each_queued(See&& see) const noexcept {
    for (queue_entry* at = queue_.front(); at != nullptr; at = at->next) see(*at);
  }
  const task_trees& trees() const noexcept { return trees_; }
  /// Prints what tasks there are; see io_context::dump().
  void dump(text_sink out, std::size_t groups_max) noexcept;
  /// The same from any thread; waits for who runs the loop.
  void dump_from_anywhere(text_sink out, std::size_t groups_max);

  /// Owns a tree of tasks until it has finished.
  void adopt(owned_tree& tree) noexcept { trees_.adopt(tree); }
  void unhandled(std::exception_ptr error, const std::source_location* spawned_at = nullptr);

  void (*unhandled_handler)(std::exception_ptr, void*) = nullptr;
  void* unhandled_data = nullptr;
  void (*log_sink)(const char*, void*) = nullptr;
  void* log_data = nullptr;

 private:
  class slot;
  friend class shared_runners;
  friend class loop_jobs;

  void let_go(descriptor& d) noexcept;
  void take_again(descriptor& d) noexcept;
  void count_outstanding(int change) noexcept;
  context_stats& counters_here() noexcept;
  void enqueue_shared(queue_entry* entry) noexcept;
  void complete_shared(io_op& op, int result) noexcept;
  static void deliver_entry_shared(queue_entry* entry, runner* where);
  std::ptrdiff_t perform_shared(io_op& op) noexcept;
  bool attempt_shared(io_op& op) noexcept;
  bool try_current(io_op& op) noexcept;
  bool step_again_shared(io_op& op) noexcept;
  void end_steps_shared(io_op& op) noexcept;
  void expect_untried(descriptor& d) noexcept;
  static void attempt_entry_shared(queue_entry* entry, runner* where);
  static void late_attempt_entry_shared(queue_entry* entry, runner* where);
  static void deliver_attempt_shared(io_op& op, runner* where, bool late);
  void run_generation(std::uint64_t delivered_max);
  void take_mail() noexcept;
  void expire_timers() noexcept;
  bool out_of_work() const noexcept;
  void hold_direction(io_op& op) noexcept;
  void leave_direction(io_op& op) noexcept;
  static std::size_t mark_cancelled(entry_queue& waiting,
                                    std::uint8_t how = io_op::flag_cancelled) noexcept;
  static void end_of_time(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  void complete_with(io_op& op, int result) noexcept;
  void cancel_directed(io_op& op, bool try_first) noexcept;
  void abandon(direction& q) noexcept;
  void abandon_all(descriptor& d) noexcept;
  bool start_undirected(io_op& op) noexcept;
  bool start_file(file_operation& op) noexcept;
  bool attempt_leased(io_op& op, descriptor& d, direction& q) noexcept;
  bool attempt_in_order(file_operation& op) noexcept;
  bool attempt_cached(file_operation& op) noexcept;
  void unlink_file(file_operation& op) noexcept;
  int take_opened(file_operation& op, int fd) noexcept;
  void open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept;
  void open_file_locked(descriptor& d, int fd) noexcept;
  void close_now(descriptor& d) noexcept;
  bool poll_busily(std::int64_t deadline) noexcept;
  void visit(turn_mode mode, std::int64_t deadline) noexcept;
  bool is_in_doubt() const noexcept;
  void nudge() noexcept;
  /// In a child of fork: gives up all that the kernel has, once.
  void leave_to_parent() noexcept {
    if (inherited() && !left_to_parent_) [[unlikely]]
      give_up_what_the_kernel_has();
  }
  void give_up_what_the_kernel_has() noexcept;
  void give_up(descriptor& d) noexcept;
  bool pause_if_exhausted(io_op& op) noexcept;
  void leave_pause(io_op& op) noexcept;
  void cancel_one(io_op& op) noexcept;
  bool empty_out() noexcept;
  void cancel_everything() noexcept;
  bool reap() noexcept;
  void destroy_queued() noexcept;
  void destroy_trees() noexcept;
  void expect_no_objects() noexcept;
  void hand_over(io_op& op) noexcept;
  void deliver_here(io_op& op, runner* where);
  static void deliver_entry(queue_entry* entry, runner* where);
  static void late_attempt_entry(queue_entry* entry, runner* where);
  template <bool Shared>
  bool attempt_transfer(io_op& op, descriptor& d, direction& q) noexcept;
  static void attempt_entry(queue_entry* entry, runner* where);
  static void start_entry(queue_entry* entry, runner* where);

  /// An entry that does something to its loop.
  struct loop_entry : queue_entry {
    io_loop* loop;
  };

  friend void start_operation(io_op& op) noexcept;
  friend class timer_operation;
  friend struct testing::context_seam;
  void start_wait(timer_operation& op) noexcept;
  void start_timer(timer_operation& op) noexcept;
  void start_signal_wait(signal_wait& op) noexcept;
  void cancel_all_signal_waits() noexcept;
  [[gnu::noinline]] void start_rare_wait(timer_operation& op) noexcept;
  void end_wait(timer_operation& op, int result) noexcept;
  void cancel_wait(timer_operation& op) noexcept;
  static void expire_wait(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;

  runner runner_;
  std::uint64_t outstanding_ = 0;  // operations in flight, on the runner's side
  std::uint64_t entries_since_visit_ = 0;
  bool generation_over_ = true;
  bool left_to_parent_ = false;  // this is a child of fork
  // The threads of a shared loop read these all the time; what they write is in the lines before.
  const std::unique_ptr<shared_runners> shared_;  // null: exclusive
  bool closing_ = false;
  std::unique_ptr<driver> driver_;
  timer_queue timers_;
  wall_timers wall_timers_;
  std::unique_ptr<lease_pool, lease_pool::let_go> leases_;
  busy_poll busy_poll_;
  loop_entry generation_mark_;
  loop_entry nudge_;
  task_trees trees_;
  accept_pause accepts_{*this};
  io_context& context_;
  scope ambient_;
  descriptor no_descriptor_;
  timer_state no_timer_;
  const std::unique_ptr<signal_state> no_signals_;
  signal_state* signal_sets_ = nullptr;  // those with waits

  std::int64_t objects_here_ = 0;  // made by the runner, less those that ended there
  std::atomic<std::int64_t> objects_elsewhere_{0};
  loop_jobs jobs_{*this};

  alignas(64) runner_slot slot_;
  run_end end_;
  mailbox mail_;
};

/// The lock of a shared loop. Who has it is the runner.
class io_loop::shared_lock {
 public:
  explicit shared_lock(io_loop& loop) noexcept
      : loop_(loop), bound_((loop.shared_->lock(), loop.runner_)) {}
  ~shared_lock() { loop_.shared_->unlock(); }
  shared_lock(const shared_lock&) = delete;
  shared_lock& operator=(const shared_lock&) = delete;

 private:
  io_loop& loop_;
  runner::binding bound_;
};

template <class Action>
bool io_loop::as_runner(Action&& action) noexcept {
  if (in_doubt()) [[unlikely]]
    return false;
  if (on_runner()) {
    take_mail();  // what other threads have started on the object comes before what happens to it
    action(*this);
    return true;
  }
  if (is_shared()) {
    const shared_lock held(*this);
    take_mail();
    action(*this);
    return true;
  }
  if (!slot_.take(runner_slot::holder::borrower)) return false;
  {
    const runner::binding bound(runner_);
    take_mail();
    action(*this);
  }
  slot_.leave();
  return true;
}

/// 0 if something may be opened in a slot of io_object::slot_to_open(), else why not.
int openable(const descriptor& d) noexcept;

/// A function of an object is running; with NDEBUG nothing. Moved-from objects share a slot.
inline object_use use_of(descriptor& d, const char* function,
                         object_use::kind how = object_use::kind::alone) noexcept {
  return {&d == &d.loop->no_descriptor() ? nullptr : &d.used, "socket", &d.fd, function, how};
}
inline object_use use_of(timer_state& timer, const char* function) noexcept {
  return {&timer == &timer.loop->no_timer() ? nullptr : &timer.used, "timer", nullptr, function};
}

}  // namespace beck::detail
