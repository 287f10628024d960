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

#include "io/engine/op_engine.hpp"
#include "io/loop/mailbox.hpp"
#include "io/loop/run_end.hpp"
#include "io/loop/runner_slot.hpp"
#include "io/loop/timer_queue.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {

class signal_wait;
class timer_operation;
struct signal_state;

class io_loop final : public op_engine {
 public:
  /// Entries of one generation that run although the kernel was asked in between, and bounds past
  /// which only timers and mail are looked at.
  static constexpr unsigned batch_entries_min = 64;
  static constexpr unsigned batch_entries_max = 1024;
  static constexpr std::int64_t batch_ns_max = 100'000;
  static constexpr std::int64_t no_deadline = INT64_MAX;

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
    if (in_handler()) {
      shared_->queue_here(entry);
      shared_->announce();
    } else if (on_runner()) {
      queue_.push(entry);
    } else {
      mail_.push(entry);
    }
  }
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
  void carry_out_commands() noexcept;
  /// Puts an order into the mail, for the runner that kept the caller from carrying it out itself
  /// or, if that has left meanwhile, for the caller.
  void send_order(queue_entry* order) noexcept {
    if (is_forked_copy()) [[unlikely]]
      return;  // nobody will ever carry it out
    mail_.push(order);
    carry_out_commands();
  }

  // --- a child of fork
  /// Whether another thread was inside the loop at the fork. Anything may be half changed then, for
  /// ever: as_runner() does nothing, and of what is destroyed only the descriptor is closed.
  bool in_doubt() const noexcept { return is_forked_copy() && is_in_doubt(); }
  void close_in_doubt(descriptor& d) noexcept;
  /// Ends a child of fork that is about to run the loop.
  void expect_own_process() const noexcept;
  /// Closes everything that is open, and nothing else; the loop is never touched again.
  void close_all_handles() noexcept;

  // --- timers and signals
  /// For a thread that waits for a point in time without being an operation: it holds no
  /// outstanding work.
  timer_queue& timers() noexcept { return timers_; }
  /// The same from a handler of a shared loop.
  bool arm_elsewhere(timer_entry& entry) noexcept;
  void disarm_elsewhere(timer_entry& entry) noexcept;
  /// Everything on `d` has to end at `when`; never: without a limit. False if there is no memory.
  bool expire_at(descriptor& d, std::int64_t when) noexcept;
  std::size_t cancel_waits(timer_state& timer, std::size_t most) noexcept;
  void cancel_signal_waits(signal_state& set) noexcept;
  /// Takes a wait out of its set.
  void end_signal_wait(signal_wait& op, int result) noexcept;

  // --- parts
  mailbox& mail() noexcept override { return mail_; }
  timer_state& no_timer() noexcept { return no_timer_; }
  signal_state& no_signals() noexcept { return *no_signals_; }
  context_stats stats() const noexcept;
  void log(const char* line) noexcept;
  /// The functions of the loop's executor, which depend on how many threads may run it.
  const executor_table& own_table() const noexcept { return own_table_; }
  any_io_executor executor() noexcept { return any_io_executor(&own_table_, this); }
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
  /// The same from a handler of a shared loop, and its contrary.
  void adopt_elsewhere(owned_tree& tree) noexcept;
  void disown_elsewhere(owned_tree& tree) noexcept;
  void unhandled(std::exception_ptr error, const std::source_location* spawned_at = nullptr);

  void (*unhandled_handler)(std::exception_ptr, void*) = nullptr;
  void* unhandled_data = nullptr;
  void (*log_sink)(const char*, void*) = nullptr;
  void* log_data = nullptr;

 private:
  class run_guard;
  friend class shared_runners;
  friend class loop_jobs;
  friend class timer_operation;
  friend struct testing::context_seam;

  // --- running
  void run_batch(std::uint64_t delivered_max);
  void take_mail() noexcept;
  void expire_timers() noexcept;
  bool out_of_work() const noexcept;
  bool poll_busily(std::int64_t deadline) noexcept;
  void poll_kernel(poll_mode mode, std::int64_t deadline) noexcept;
  void wake_runner() noexcept;

  // --- for the engine
  void start_wait(io_op& op) noexcept override;
  void cancel_wait(io_op& op) noexcept override;
  void start_locked(io_op& op) noexcept override;
  void disarm(descriptor& d) noexcept override;
  void give_up_kernel_state() noexcept override;

  // --- the end
  bool is_in_doubt() const noexcept;
  bool empty_out() noexcept;
  void cancel_everything() noexcept;
  bool reap() noexcept;
  void destroy_queued() noexcept;
  void destroy_trees() noexcept;
  void expect_no_objects() noexcept;

  // --- timers and signals
  void start_timer(timer_operation& op) noexcept;
  [[gnu::noinline]] void start_rare_timer(timer_operation& op) noexcept;
  void end_timer(timer_operation& op, int result) noexcept;
  void cancel_timer(timer_operation& op) noexcept;
  static void expire_timer(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  static void expire_descriptor(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  void start_signal_wait(signal_wait& op) noexcept;
  void cancel_all_signal_waits() noexcept;

  /// An entry that does something to its loop.
  struct loop_entry : queue_entry {
    io_loop* loop;
  };

  std::uint64_t entries_since_poll_ = 0;
  bool batch_over_ = true;
  timer_queue timers_;
  wall_timers wall_timers_;
  busy_poll busy_poll_;
  loop_entry batch_mark_;
  loop_entry wake_entry_;
  task_trees trees_;
  const executor_table& own_table_;
  io_context& context_;
  scope ambient_;
  timer_state no_timer_;
  const std::unique_ptr<signal_state> no_signals_;
  signal_state* signal_sets_ = nullptr;  // those with waits

  std::int64_t objects_here_ = 0;  // made by the runner, less those that ended there
  std::atomic<std::int64_t> objects_elsewhere_{0};

  alignas(64) runner_slot slot_;
  run_end end_;
  mailbox mail_;
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
