// SPDX-License-Identifier: BSL-1.0
// The threads of a shared context. One lock guards the whole loop; it is held for bookkeeping and
// let go while handlers run, while an operation's system call is made and while somebody waits. So
// everything else in the loop is the code of exclusive contexts: whoever holds the lock is its
// runner, and handlers run on a runner of their thread's own, which is never the loop's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <beck/run/runner.hpp>

#include "io/baton.hpp"
#include "io/driver.hpp"

namespace beck {

class io_loop;
class virtual_threads;

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

  /// Whether the caller is inside a handler of this loop.
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }

  /// Whether a thread is inside run(). Under the lock.
  bool is_inside() const noexcept { return inside_ != 0; }
  /// For the destructor: wake-ups that are still owed to the wake descriptor.
  std::uint64_t owed() const noexcept { return threads_ == nullptr ? baton_.owed() : 0; }
  /// Wakes all who wait, as stop() does.
  void call_everybody() noexcept;

  // --- the lock
  void lock() noexcept;
  /// Lets go of it for a moment, by whoever goes on with the same thing.
  void pause_lock() noexcept;
  /// Lets go of it, and wakes whom the change that was made concerns.
  void unlock() noexcept;

  // --- without the lock
  /// Between two tries of something that another thread will do soon.
  void yield() noexcept;
  /// Where what other threads do makes a difference: virtual ones may do it here.
  void meet_others() noexcept;

 private:
  /// Wake-ups to deliver without the lock; they name nothing that could be gone by then.
  struct wake_ups {
    baton::wake_up work;
    baton::wake_up other;
    void deliver(virtual_threads* threads) const noexcept;
  };
  class place;
  class presence;

  std::size_t serve(runner& where, std::size_t handlers, std::int64_t deadline, bool blocking);
  bool turn(runner& where, std::int64_t deadline, bool blocking);
  void run_entry(runner& where);
  void visit(turn_mode mode, std::int64_t deadline) noexcept;
  void wait_for_work(std::int64_t deadline) noexcept;
  void sleep(std::int64_t deadline) noexcept;
  bool out_of_work() const noexcept;
  wake_ups changes() noexcept;

  io_loop& loop_;
  baton baton_;
  virtual_threads* threads_ = nullptr;
  std::int64_t wait_until_ = INT64_MIN;  // of who waits in the kernel
  unsigned inside_ = 0;                  // threads in run()
  unsigned busy_ = 0;                    // inside a handler
  unsigned turns_until_look_ = 0;        // at the clock, while there is work
  bool visiting_ = false;                // somebody collects events
  bool in_kernel_ = false;               // and waits for them

  std::mutex places_mutex_;
  std::condition_variable place_free_;
  unsigned places_;
  unsigned waiting_for_place_ = 0;
};

}  // namespace beck
