// SPDX-License-Identifier: BSL-1.0
// The loop behind an io_context: run queue, mailbox, timers, descriptors and one driver. Only the
// runner may touch the loop: on an exclusive loop the thread that holds the runner slot, on a
// shared one a thread that holds the loop's lock. All others push to the mailbox.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>
#include <beck/detail/scope.hpp>
#include <beck/io/io_context.hpp>

#include "io/engine/op_engine.hpp"
#include "io/loop/loop_signals.hpp"
#include "io/loop/loop_timers.hpp"
#include "io/loop/mailbox.hpp"
#include "io/loop/run_end.hpp"
#include "io/loop/run_turns.hpp"
#include "io/loop/runner_slot.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {

class io_loop final {
 public:
  /// While entries are queued, run_batch() runs at least this number of them before it stops at the
  /// batch's mark and the kernel is polled; fewer if they take longer than look_ns. The clock is
  /// read once for as many entries.
  static constexpr unsigned batch_entries_min = 64;
  static constexpr std::int64_t look_ns = 32'000;
  /// Where fewer entries take look_ns, sends must not wait for the next poll.
  static constexpr unsigned batch_entries_slow = 16;
  /// The bounds of one run_batch(): when it reaches one of them, timers and mail are checked before
  /// the rest of the batch runs.
  static constexpr unsigned batch_entries_max = 1024;
  static constexpr std::int64_t batch_ns_max = 100'000;
  static constexpr std::int64_t no_deadline = INT64_MAX;

  io_loop(io_context& context, const io_context::options& how);
  ~io_loop();
  io_loop(const io_loop&) = delete;
  io_loop& operator=(const io_loop&) = delete;

  // --- running
  /// Runs until `handlers` handlers have run, `deadline` has passed, work has run out or stop() was
  /// called; with `blocking` false, until nothing is ready. Returns the number of handlers that
  /// ran. While another thread runs an exclusive loop, a blocking call waits for its turn, and
  /// another one returns 0; on a loop that cannot be woken both throw std::logic_error.
  std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking);
  /// Runs one iteration for a caller that alternates between several loops: runs the entries and
  /// timers that are due, about `handlers` handlers, and polls the kernel at most once, without
  /// waiting. Does not stop the loop when work has run out. Returns the number of handlers that
  /// ran.
  std::size_t step(std::size_t handlers);
  /// Returns whether run() would have something to run or to wait for.
  bool has_work() const noexcept { return !stopped() && (!core().queue.empty() || !out_of_work()); }
  /// Returns the time at which a wait must end: `no_deadline` if only an event or mail can end it.
  std::int64_t next_deadline() noexcept;
  /// Does the first half of the destructor's work, for loops that may hold objects of one another:
  /// cancels and destroys everything, and lets nothing start afterwards. Returns false if there was
  /// nothing left.
  bool clear() noexcept;
  /// Does the first half of the destructor's work while the program ends. Returns false if the loop
  /// must stay as it is until the program is gone: a thread is inside it, which may be the caller
  /// in a handler that has called exit(3), or objects are left, in scopes that never end.
  bool end_with_program() noexcept;
  /// Does the first half of the destructor's work. Returns false, with a line in the log, if
  /// objects are left: then the loop must stay until the program ends, and starts nothing.
  bool end_before_objects() noexcept;
  void stop() noexcept;
  void restart() noexcept { end_.restart(); }
  bool stopped() const noexcept { return end_.stopped(); }

  // --- any thread
  /// Returns whether the caller may touch the loop: it runs an exclusive loop, or holds the lock of
  /// a shared one.
  bool on_runner() const noexcept { return core().on_runner(); }
  /// Returns the steady time, in nanoseconds: for the runner that of the begin of the turn.
  std::int64_t turn_time() noexcept {
    const std::int64_t read = on_runner() ? core().run_state.read_at : 0;
    return read != 0 ? read : core().sys->now();
  }
  /// Returns whether the caller is inside run() of a shared loop.
  bool in_handler() const noexcept { return engine_.in_handler(); }
  /// Returns whether the caller is the runner or inside run(), so that the loop will run the
  /// entries that the caller queues.
  bool runs_here() const noexcept { return on_runner() || in_handler(); }
  /// Returns whether the caller runs an exclusive loop, so that no other thread may touch the loop
  /// meanwhile.
  bool runs_alone() const noexcept { return !core().is_shared && on_runner(); }
  void post(queue_entry* entry) noexcept {
    if (in_handler()) {
      shared_runners::queue_here(entry);
      engine_.shared()->announce();
    } else if (on_runner()) {
      core().queue.push(entry);
    } else {
      mail_.push(entry);
    }
  }
  /// Returns the number of threads that may be inside run(). Requires a shared loop.
  unsigned threads_max() const noexcept { return engine_.shared()->threads_max(); }
  /// As run(), called by a thread that the driver simulates. Requires a shared loop.
  std::size_t run_as_thread(std::size_t handlers, std::int64_t deadline, bool blocking) {
    return engine_.shared()->run_as_thread(handlers, deadline, blocking);
  }
  /// Wakes every thread that waits inside run(), so that it checks the loop's state again. Requires
  /// a shared loop.
  void call_everybody() noexcept { engine_.shared()->call_everybody(); }
  /// Returns the loop to which the runner `where` of an entry belongs.
  static io_loop& of(runner& where) noexcept {
    return *static_cast<io_loop*>(where.ambient->executor().target());
  }
  void work(long change) noexcept;
  /// Counts the objects without a descriptor, such as timers: `change` is 1 at the start of a life
  /// and -1 at its end.
  void count_object(int change) noexcept {
    if (on_runner()) {
      objects_here_ += change;
    } else {
      objects_elsewhere_.fetch_add(change, std::memory_order_relaxed);
    }
  }

  /// Calls `action(*this)` as the runner, and returns true: at once if the caller is the runner; on
  /// a shared loop with the loop's lock; on an exclusive loop that is idle with its slot, which a
  /// borrower may hold for a moment. Returns false, and does nothing, if another thread runs an
  /// exclusive loop, or if in_doubt().
  template <class Action>
  bool as_runner(Action&& action) noexcept {
    if (!acts_as_runner()) [[unlikely]]
      return as_borrower(action);
    action(*this);
    return true;
  }
  /// Returns whether the caller is the runner, the usual case of as_runner(). Then the operations
  /// that other threads have started come before what the caller does now.
  bool acts_as_runner() noexcept {
    if (!on_runner()) return false;
    if (mail_.has_mail() || core().is_forked_copy()) [[unlikely]]
      take_mail();
    return true;
  }
  /// Runs the commands in the mail if no thread runs the loop, so that they do not wait for the
  /// next run().
  void carry_out_commands() noexcept;
  /// Sends a command to the thread that runs the loop and therefore keeps the caller from carrying
  /// the command out. If that thread has left the loop meanwhile, this call carries it out.
  void send_order(queue_entry* order) noexcept {
    if (core().is_forked_copy()) [[unlikely]]
      return;  // no thread will ever carry it out
    send_command(order);
    carry_out_commands();
  }

  // --- a child of fork
  /// Returns whether this is a child of fork and another thread was inside the loop at the fork.
  /// The child's copy may then be half changed for ever: as_runner() does nothing, and destroying
  /// an object only closes its descriptor.
  bool in_doubt() const noexcept { return core().is_forked_copy() && is_in_doubt(); }
  void close_in_doubt(descriptor& d) noexcept;
  /// Ends the program if it is a child of fork: only the parent may run the loop.
  void expect_own_process() const noexcept;
  /// Closes all descriptors that are open, and does nothing else. The loop must not be used
  /// afterwards.
  void close_all_handles() noexcept;

  // --- timers and signals
  loop_timers& timers() noexcept { return timers_; }
  loop_signals& signals() noexcept { return signals_; }
  /// Adds `entry` to the timers, from a handler of a shared loop. Returns false if there is no
  /// memory.
  bool arm_elsewhere(timer_entry& entry) noexcept;
  /// Removes `entry` from the timers, if it is armed, from a handler of a shared loop.
  void disarm_elsewhere(timer_entry& entry) noexcept;

  // --- parts
  op_engine& engine() noexcept { return engine_; }
  loop_core& core() noexcept { return engine_.core(); }
  const loop_core& core() const noexcept { return engine_.core(); }
  descriptor_life& descriptors() noexcept { return engine_.descriptors(); }
  op_cancels& cancels() noexcept { return engine_.cancels(); }
  file_calls& files() noexcept { return engine_.files(); }
  driver& drv() const noexcept { return engine_.drv(); }
  system& sys() noexcept { return *core().sys; }
  runner& run_state() noexcept { return core().run_state; }
  mailbox& mail() noexcept { return mail_; }
  const run_turns& turns() const noexcept { return turns_; }
  /// Returns whether a thread, perhaps the caller, runs an exclusive loop.
  bool is_run() const noexcept { return slot_.has_runner(); }
  descriptor& no_descriptor() noexcept { return descriptors().vacant(); }
  /// Mails a command: an entry that runs no user code, which take_mail() runs instead of queuing
  /// it. Any thread.
  void send_command(queue_entry* command) noexcept;
  context_stats stats() const noexcept;
  void log(const char* line) noexcept;
  /// Returns the functions of the loop's executor: exclusive and shared loops have different ones.
  const executor_table& own_table() const noexcept { return own_table_; }
  any_io_executor executor() noexcept { return any_io_executor(&own_table_, this); }
  static const executor_table& executor_table_of_loops() noexcept { return io_context::loop_table; }
  static const executor_table& executor_table_of_shared_loops() noexcept {
    return io_context::shared_loop_table;
  }
  io_context& context() noexcept { return context_; }

  /// Calls `see(queue_entry&)` for each entry of the queue, oldest first, for dumps.
  template <class See>
  void each_queued(See&& see) const noexcept {
    for (queue_entry* at = core().queue.front(); at != nullptr; at = at->next) see(*at);
  }
  /// Returns the trees of tasks, for dumps.
  const task_trees& trees() const noexcept { return trees_; }
  /// Prints the tasks; see io_context::dump().
  void dump(text_sink out, std::size_t groups_max) noexcept;
  /// As dump(), from any thread. Waits until the thread that runs the loop has printed.
  void dump_from_anywhere(text_sink out, std::size_t groups_max);

  /// Owns a tree of tasks until the tree has finished.
  void adopt(owned_tree& tree) noexcept { trees_.adopt(tree); }
  /// As adopt(), from a handler of a shared loop.
  void adopt_elsewhere(owned_tree& tree) noexcept;
  /// Ends the ownership of a tree, from a handler of a shared loop.
  void disown_elsewhere(owned_tree& tree) noexcept;
  void unhandled(std::exception_ptr error, const std::source_location* spawned_at = nullptr);

  void (*unhandled_handler)(std::exception_ptr, void*) = nullptr;
  void* unhandled_data = nullptr;
  io_loop* next_kept = nullptr;  ///< if objects have outlived the context
  void (*log_sink)(const char*, void*) = nullptr;
  void* log_data = nullptr;

 private:
  class run_guard;
  friend class shared_runners;
  friend class loop_jobs;
  friend struct testing::context_seam;

  // --- running
  /// Runs queued entries until the batch is over, a bound of a batch is reached, or the runner has
  /// delivered `delivered_max` handlers in total.
  void run_batch(std::uint64_t delivered_max);
  void learn_pace(std::int64_t elapsed) noexcept;
  /// Returns whether `entry` runs no user code, so that it need not wait behind handlers. A new
  /// kind of command is listed here; send_command() asserts that.
  static bool is_command(const queue_entry& entry) noexcept;
  /// Empties the mailbox: runs commands at once, queues all other entries.
  void take_mail() noexcept;
  /// Does as_runner() for a caller that is not the runner. Out of line: the runner, which is nearly
  /// always the caller, needs no registers for it.
  template <class Action>
  [[gnu::noinline]] bool as_borrower(Action& action) noexcept;
  void expire_timers() noexcept;
  bool out_of_work() const noexcept;
  bool poll_busily(std::int64_t deadline) noexcept;
  /// Polls the driver once, and puts the mark of a new batch behind the queue if the last batch is
  /// over.
  void poll_kernel(poll_mode mode, std::int64_t deadline) noexcept;
  void wake_runner() noexcept;
  bool wait_for_turn(std::int64_t deadline, bool blocking);
  /// Wakes a thread that waits for its turn; all of them if the loop is stopped.
  void call_waiting() noexcept;

  // --- the end
  bool is_in_doubt() const noexcept;
  /// Cancels and reaps everything, then destroys entries and tasks. Returns false if the kernel or
  /// a thread still holds an operation.
  bool empty_out() noexcept;
  void cancel_everything() noexcept;
  /// Waits until the kernel and the threads have returned all operations. Returns false after 30 s.
  bool reap() noexcept;
  void destroy_queued() noexcept;
  void destroy_trees() noexcept;
  /// The numbers of objects of the loop that exist.
  struct object_counts {
    std::int64_t descriptors;
    std::int64_t others;
    bool is_zero() const noexcept { return descriptors == 0 && others == 0; }
  };
  object_counts count_objects() noexcept;
  void expect_no_objects() noexcept;
  /// Writes a line to the log, once for each loop, if nothing is queued and there are tasks that
  /// wait for nothing that the loop knows of. `ends`: whether the loop is destroyed; otherwise
  /// run() has no work left.
  void report_lost_tasks(bool ends) noexcept;

  /// A queue entry that refers to its loop.
  struct loop_entry : queue_entry {
    io_loop* loop;
  };

  op_engine engine_;  // first: its parts outlive all others
  std::uint64_t entries_since_poll_ = 0;
  unsigned look_every_ = batch_entries_min;  // entries between two readings of the clock
  bool batch_over_ = true;
  const executor_table& own_table_;
  io_context& context_;
  loop_timers timers_;
  loop_signals signals_;
  busy_poll busy_poll_;
  loop_entry batch_mark_;
  loop_entry wake_entry_;
  task_trees trees_;
  bool lost_tasks_reported_ = false;
  scope ambient_;

  // Made by the runner, less those that it destroyed; the state that timers_ keeps counts.
  std::int64_t objects_here_ = 0;
  std::atomic<std::int64_t> objects_elsewhere_{0};

  alignas(64) runner_slot slot_;
  run_end end_;
  mailbox mail_;
  run_turns turns_;
};

template <class Action>
bool io_loop::as_borrower(Action& action) noexcept {
  if (in_doubt()) [[unlikely]]
    return false;
  if (core().is_shared) {
    const shared_lock held(core(), *engine_.shared());
    take_mail();
    action(*this);
    return true;
  }
  if (!slot_.take(runner_slot::holder::borrower)) return false;
  {
    const runner::binding bound(core().run_state);
    take_mail();
    action(*this);
  }
  slot_.leave();
  return true;
}

/// Returns 0 if something may be opened in a slot of io_object::slot_to_open(), or else the reason
/// as a negative error number.
int openable(const descriptor& d) noexcept;

/// Marks `d` as used by a function of its object; does nothing with NDEBUG. Moved-from objects
/// share a slot, which is not checked.
inline object_use use_of(descriptor& d, const char* function,
                         object_use::kind how = object_use::kind::alone) noexcept {
  return {&d == &d.loop->no_descriptor() ? nullptr : &d.used, "socket", &d.fd, function, how};
}
/// Marks `timer` as used by a function of its object; does nothing with NDEBUG. Moved-from timers
/// share a state, which is not checked.
inline object_use use_of(timer_state& timer, const char* function) noexcept {
  return {&timer == &timer.loop->timers().vacant() ? nullptr : &timer.used, "timer", nullptr,
          function};
}

}  // namespace beck::detail
