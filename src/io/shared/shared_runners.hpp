// SPDX-License-Identifier: BSL-1.0
// The threads of a shared context. Each takes a batch of entries from the shared queue into a queue
// of its own, where what its handlers queue goes as well; one that has none takes from the others.
// One lock guards what they share: that queue, mail, timers, and who may ask the kernel. Handlers
// run without it, and so do transfers on sockets (op_engine_shared.cpp).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <beck/detail/runner.hpp>
#include <beck/io/io_context.hpp>

#include "io/driver/driver.hpp"
#include "io/shared/idle_threads.hpp"
#include "io/shared/private_queue.hpp"

namespace beck::detail {

class io_loop;
class virtual_threads;

/// A thread inside run().
struct alignas(64) shared_thread : runner {
  private_queue queue;
  private_queue due;    ///< reads that are speculated on, when the queue has been run through,
  private_queue fresh;  ///< and those for the time after that
  context_stats seen;   ///< since its last look at what is shared
  std::int64_t outstanding = 0;    ///< operations started less operations finished, since then
  bool unannounced = false;        ///< it has queued something, and asked nobody to help
  bool active = false;             ///< it has entries, or is inside a handler
  bool woken = false;              ///< it has slept: a single entry is worth taking from others
  unsigned depth = 0;              ///< of run(), where handlers call it
  unsigned entries_to_poll = 0;    ///< until it looks at what is shared, although it has more
  unsigned entries_to_rotate = 0;  ///< until reads that are due are tried, although it has more
  unsigned polls = 0;
  unsigned polls_before = 0;  ///< when another thread last asked
  unsigned idle_polls = 0;
  unsigned idle_polls_max = 0;
  shared_thread* next = nullptr;  ///< inside run() too

  unsigned count() const noexcept { return queue.count() + due.count() + fresh.count(); }
};

class shared_runners {
 public:
  shared_runners(io_loop& loop, unsigned threads_max) noexcept
      : loop_(loop), places_(threads_max) {}
  shared_runners(const shared_runners&) = delete;
  shared_runners& operator=(const shared_runners&) = delete;

  /// `threads`: the driver's own, or nullptr if they are real.
  void open(int wake_fd, virtual_threads* threads) noexcept;
  unsigned threads_max() const noexcept { return places_; }

  /// io_loop::run() by one of several threads; one too many waits for a place, until `deadline`.
  std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking);
  /// The same, by one of the driver's own.
  std::size_t run_as_thread(std::size_t handlers, std::int64_t deadline, bool blocking);

  /// Whether a thread is inside run(). Under the lock.
  bool is_inside() const noexcept { return inside_ != 0; }
  /// Whether another thread than the caller is.
  bool others_inside() const noexcept { return inside_ > (running_here() ? 1u : 0u); }
  /// For the destructor: wake-ups that are still owed to the wake descriptor.
  std::uint64_t owed() const noexcept { return virtual_ == nullptr ? idle_threads_.owed() : 0; }
  /// Wakes all who wait, as stop() does.
  void call_everybody() noexcept;
  /// How often a thread was woken: at the futex, or in the kernel for something that was queued.
  std::uint64_t wake_ups() const noexcept { return wake_ups_; }

  // --- inside a handler
  /// Whether the caller is.
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }
  /// Requires running_here().
  static shared_thread& here() noexcept { return static_cast<shared_thread&>(*runner::current()); }
  /// Queues for this thread; announce() must follow before user code runs.
  static void queue_here(queue_entry* entry) noexcept {
    shared_thread& mine = here();
    mine.queue.push(entry);
    mine.unannounced = true;
  }
  /// Queues a read that is to be tried when what is here now has been run.
  static void list_here(queue_entry* entry) noexcept {
    shared_thread& mine = here();
    mine.fresh.push(entry);
    mine.unannounced = true;
  }
  /// Sees to it that what this thread has queued does not have to wait for the end of its handler.
  void announce() noexcept {
    shared_thread& mine = here();
    if (!mine.unannounced) return;
    mine.unannounced = false;
    const sleep_state::level who = sleepers_.get();
    if (who != sleep_state::level::nobody) call_help(mine, who);
  }

  // --- the lock
  void lock() noexcept;
  /// Lets go of it for a moment, by whoever goes on with the same thing.
  void pause_lock() noexcept;
  /// Lets go of it, and wakes whom the change that was made concerns.
  void unlock() noexcept;

  // --- without any lock
  /// Between two tries of something that another thread will do soon.
  void yield() noexcept;
  /// Where what other threads do makes a difference: virtual ones may do it here.
  void yield_point() noexcept {
    if (virtual_ != nullptr) [[unlikely]]
      meet_virtual_others();
  }

 private:
  /// How long entries behind a handler that blocks may have to wait until a thread looks.
  static constexpr std::int64_t watch_ns = 1'000'000;
  /// With fewer entries a thread does not wake another one that will look by itself: a wake-up
  /// takes as long as dozens of small handlers.
  static constexpr unsigned worth_a_wake_up = 4;

  void meet_virtual_others() noexcept;
  /// Wake-ups to deliver without the lock; they name nothing that could be gone by then.
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
  std::int64_t wait_until_ = INT64_MIN;  // of who waits in the kernel
  std::int64_t help_at_ = 0;             // when somebody looks who is stuck
  std::uint64_t wake_ups_ = 0;
  unsigned inside_ = 0;     // threads in run()
  unsigned active_ = 0;     // with entries, or inside a handler
  unsigned outer_ = 0;      // handlers that have called run() and wait for it
  bool polling_ = false;    // somebody collects events
  bool in_kernel_ = false;  // and waits for them
  bool watched_ = false;    // for a short time only, because others are active

  std::mutex places_mutex_;
  std::condition_variable place_free_;
  unsigned places_;
  unsigned waiting_for_place_ = 0;
};

}  // namespace beck::detail
