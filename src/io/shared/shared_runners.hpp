// SPDX-License-Identifier: BSL-1.0
// The threads of a shared context. Each takes a batch of entries from the shared queue into a queue
// of its own, where the entries of its handlers go as well; a thread without entries steals from
// the others. One lock guards the shared state: that queue, the mail, the timers, and the right to
// poll the kernel. Handlers run without it, and so do transfers on sockets (op_locks.cpp).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <beck/detail/runner.hpp>
#include <beck/io/io_context.hpp>

#include "io/driver/driver.hpp"
#include "io/driver/loop_core.hpp"
#include "io/shared/idle_threads.hpp"
#include "io/shared/private_queue.hpp"

namespace beck::detail {

class io_loop;
class virtual_threads;

/// A thread inside run().
struct alignas(64) shared_thread : runner {
  private_queue queue;
  private_queue due;             ///< reads whose late attempts are due when the queue has been run
  private_queue fresh;           ///< reads whose late attempts are due after that
  context_stats seen;            ///< counters since its last look at the shared state
  std::int64_t outstanding = 0;  ///< operations started less those finished, since then
  bool unannounced = false;      ///< it has queued an entry, and has not called announce()
  bool active = false;           ///< it has entries, or is inside a handler
  bool woken = false;            ///< it has slept: a single entry is worth stealing
  unsigned depth = 0;            ///< of nested calls of run() by handlers
  unsigned entries_to_poll = 0;  ///< entries to run until it looks at the shared state
  unsigned entries_to_rotate = 0;  ///< entries to run until reads that are due are attempted
  unsigned polls = 0;
  unsigned polls_before = 0;  ///< when another thread last compared
  unsigned idle_polls = 0;
  unsigned idle_polls_max = 0;
  shared_thread* next = nullptr;  ///< the next thread inside run()

  unsigned count() const noexcept { return queue.count() + due.count() + fresh.count(); }
};

class shared_runners {
 public:
  shared_runners(io_loop& loop, unsigned threads_max) noexcept
      : loop_(loop), places_(threads_max) {}
  shared_runners(const shared_runners&) = delete;
  shared_runners& operator=(const shared_runners&) = delete;

  /// Sets the wake descriptor and the threads: the driver's, or nullptr if they are real.
  void open(int wake_fd, virtual_threads* threads) noexcept;
  unsigned threads_max() const noexcept { return places_; }

  /// Runs the loop as io_loop::run() does, on one of several threads. A thread over the maximum
  /// waits for a place, until `deadline`.
  std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking);
  /// Runs the loop on the calling thread, a real one or one of the driver's.
  std::size_t run_as_thread(std::size_t handlers, std::int64_t deadline, bool blocking);

  /// Returns whether a thread is inside run(). Requires the lock.
  bool is_inside() const noexcept { return inside_ != 0; }
  /// Returns whether a thread other than the caller is inside run().
  bool others_inside() const noexcept { return inside_ > (running_here() ? 1u : 0u); }
  /// Returns the number of writes that are still owed to the wake descriptor, for the destructor.
  std::uint64_t owed() const noexcept { return virtual_ == nullptr ? idle_threads_.owed() : 0; }
  /// Wakes all waiting threads, as stop() does.
  void call_everybody() noexcept;
  /// Returns how often a thread was woken: at the futex, or in the kernel for an entry or a
  /// deadline.
  std::uint64_t wake_ups() const noexcept { return wake_ups_; }

  // --- inside a handler
  /// Returns whether the calling thread is inside run().
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }
  /// Returns the calling thread. Requires running_here().
  static shared_thread& here() noexcept { return static_cast<shared_thread&>(*runner::current()); }
  /// Queues `entry` for this thread; announce() must follow before user code runs.
  [[gnu::noinline]] static void queue_here(queue_entry* entry) noexcept {
    shared_thread& mine = here();
    mine.queue.push(entry);
    mine.unannounced = true;
  }
  /// Adds to the operations in flight, as far as this thread has counted them.
  [[gnu::noinline]] static void count_outstanding_here(int change) noexcept {
    here().outstanding += change;
  }
  /// Lists a read for a late attempt, after the entries that this thread has now.
  static void list_here(queue_entry* entry) noexcept {
    shared_thread& mine = here();
    mine.fresh.push(entry);
    mine.unannounced = true;
  }
  /// Makes sure that the entries that this thread has queued need not wait for the end of its
  /// handler.
  void announce() noexcept {
    shared_thread& mine = here();
    if (!mine.unannounced) return;
    mine.unannounced = false;
    const sleep_state::level who = sleepers_.get();
    if (who != sleep_state::level::nobody) call_help(mine, who);
  }

  // --- the lock
  void lock() noexcept;
  /// Releases the lock for a moment, and wakes no thread.
  void pause_lock() noexcept;
  /// Releases the lock, and wakes the threads that the changes require.
  void unlock() noexcept;

  // --- without any lock
  /// Yields between two checks of something that another thread will do soon.
  void yield() noexcept;
  /// Lets virtual threads continue, where the actions of other threads make a difference.
  void yield_point() noexcept {
    if (virtual_ != nullptr) [[unlikely]]
      meet_virtual_others();
  }

 private:
  /// The longest time that entries behind a blocking handler wait until another thread looks.
  static constexpr std::int64_t watch_ns = 1'000'000;
  /// A thread with fewer entries does not wake another one that will look by itself: a wake-up
  /// takes as long as dozens of small handlers.
  static constexpr unsigned worth_a_wake_up = 4;

  void meet_virtual_others() noexcept;
  /// Wake-ups to deliver without the lock. They refer to nothing that could be gone by then.
  struct wake_ups_owed {
    idle_threads::wake_up work;
    idle_threads::wake_up other;
    idle_threads::wake_up outer;
    void deliver(virtual_threads* threads) const noexcept {
      if (threads != nullptr) return deliver_to(*threads);
      idle_threads::deliver(work);
      idle_threads::deliver(other);
      idle_threads::deliver(outer);
    }
    void deliver_to(virtual_threads& threads) const noexcept;
  };
  class place;
  class run_guard;
  class lock_guard;

  std::size_t serve(shared_thread& mine, std::size_t handlers, std::int64_t deadline,
                    bool blocking);
  bool iterate(shared_thread& mine, std::int64_t deadline, bool blocking);
  bool find_work(shared_thread& mine, std::int64_t deadline, bool blocking);
  bool collect_entries(shared_thread& mine) noexcept;
  bool idle(shared_thread& mine, std::int64_t deadline, bool blocking) noexcept;
  void take_entries(shared_thread& mine) noexcept;
  void rotate(shared_thread& mine) noexcept;
  static void steal_from(shared_thread& other, shared_thread& mine, unsigned least) noexcept;
  void steal(shared_thread& mine, unsigned least) noexcept;
  void help_others(shared_thread& mine) noexcept;
  void begin(shared_thread& mine, wake_ups_owed& owed) noexcept;
  void set_active(shared_thread& mine) noexcept;
  void rest(shared_thread& mine, wake_ups_owed& owed) noexcept;
  void add_counters(shared_thread& mine) noexcept;
  bool in_time(std::int64_t deadline) const noexcept;
  void sleep(shared_thread& mine, std::int64_t deadline) noexcept;
  void wait_at_futex(std::int64_t deadline) noexcept;
  void wait_in_kernel(std::int64_t deadline) noexcept;
  void poll_kernel(poll_mode mode, std::int64_t deadline) noexcept;
  bool out_of_work(const shared_thread& mine) const noexcept;
  void call_help(shared_thread& mine, sleep_state::level who) noexcept;
  idle_threads::wake_up claim(unsigned most) noexcept;
  idle_threads::wake_up counted(idle_threads::wake_up owed) noexcept;
  sleep_state::level who_sleeps() const noexcept;
  wake_ups_owed changes() noexcept;

  alignas(64) io_loop& loop_;  // read all the time, as sleepers_
  sleep_state sleepers_;
  virtual_threads* virtual_ = nullptr;

  alignas(64) idle_threads idle_threads_;
  shared_thread* threads_ = nullptr;     // inside run()
  std::int64_t wait_until_ = INT64_MIN;  // the deadline of the leader's wait in the kernel
  std::int64_t help_at_ = 0;             // when a thread next looks for stuck threads
  std::uint64_t wake_ups_ = 0;
  unsigned inside_ = 0;     // threads in run()
  unsigned active_ = 0;     // with entries, or inside a handler
  unsigned outer_ = 0;      // handlers that have called run() and wait for it
  bool polling_ = false;    // a thread polls the kernel
  bool in_kernel_ = false;  // and waits there
  bool watched_ = false;    // for a short time only, because others are active

  std::mutex places_mutex_;
  std::condition_variable place_free_;
  unsigned places_;
  unsigned waiting_for_place_ = 0;
};

/// Returns the counters of the calling thread.
inline context_stats& counters_here(loop_core& core) noexcept {
  return core.has_own_queue() ? shared_runners::here().seen : core.counters;
}

}  // namespace beck::detail
