// SPDX-License-Identifier: BSL-1.0
// The events by which other threads end run(): stop(), and the end of the last outstanding work. A
// thread that causes one of them wakes the loop through its mailbox, with one entry that all
// threads share. The loop may be destroyed as soon as it has seen the change, so its destructor
// waits for threads that are between the change and the end of their wake-up. Also here: for how
// long run() busy-polls before it sleeps.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// The parameter `wake` pushes the shared entry into the loop's mailbox; that entry calls woken()
/// when it runs.
template <class Atomics>
class basic_run_end {
 public:
  // --- the runner
  bool stopped() const noexcept {
    // Pairs with stop(): a thread that leaves run() because of it may destroy the loop, and must
    // find the stopping thread counted as busy.
    return stopped_.load(std::memory_order_acquire);
  }
  /// Release: a thread that waits for its turn returns because of it, and its caller may read the
  /// results of handlers.
  void stop_here() noexcept { stopped_.store(true, std::memory_order_release); }
  void restart() noexcept { stopped_.store(false, std::memory_order_relaxed); }
  bool has_work() const noexcept { return work_.load(std::memory_order_acquire) != 0; }
  /// Notes that the shared entry has left the mailbox and may be pushed again. An exchange: a
  /// thread that found the entry pushed, and therefore did not wake the loop, has made its change
  /// visible here.
  void woken() noexcept { pushed_.exchange(false, std::memory_order_acq_rel); }
  /// Waits for threads that are still inside stop() or end_work(). No other thread touches the
  /// object afterwards.
  void wait_for_stragglers() const noexcept {
    while (busy_.load(std::memory_order_acquire) != 0) Atomics::yield();
  }

  // --- any thread
  /// Changes the count of outstanding work. Thread: any for an increase, the runner for a decrease.
  void count_work(long change) noexcept {
    // acq_rel: a thread that sees the count at zero also sees all that other threads did before
    // they decreased it.
    work_.fetch_add(change, std::memory_order_acq_rel);
  }
  /// Decreases the count of outstanding work by -`change`, on a thread that is not the runner.
  /// Wakes the loop if the count becomes zero.
  template <class Wake>
  void end_work(long change, Wake&& wake) noexcept {
    busy_.fetch_add(1, std::memory_order_relaxed);  // the destructor waits for this thread now
    if (work_.fetch_add(change, std::memory_order_acq_rel) + change == 0) push(wake);
    busy_.fetch_sub(1, std::memory_order_release);
  }
  /// Stops the loop and wakes it. Calls `call_others()`, too, which may use the loop: the
  /// destructor waits for its end.
  template <class Wake, class CallOthers>
  void stop(Wake&& wake, CallOthers&& call_others) noexcept {
    busy_.fetch_add(1, std::memory_order_relaxed);    // the destructor waits for this thread now
    stopped_.store(true, std::memory_order_release);  // pairs with stopped()
    push(wake);
    call_others();
    busy_.fetch_sub(1, std::memory_order_release);
  }

 private:
  template <class Wake>
  void push(Wake& wake) noexcept {
    if (!pushed_.exchange(true, std::memory_order_acq_rel)) wake();
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;

  atomic<bool> stopped_{false};  // read often by the runner: not in the line that others write
  alignas(64) atomic<bool> pushed_{false};  // the shared entry is in the mailbox
  atomic<long> work_{0};                    // work guards, and work in other contexts for this one
  atomic<unsigned> busy_{0};                // threads between a change and the end of their wake-up
};

using run_end = basic_run_end<real_atomics>;

// Decides whether an idle loop busy-polls before it sleeps. A wake-up costs 10 microseconds or
// more, busy-polling a whole processor: so the loop does it only where it has found work lately.

/// Thread: the runner.
class busy_poll {
 public:
  /// The most waits in a row before which the loop does not busy-poll.
  static constexpr std::uint32_t skips_max = 64;

  /// Sets the longest time of one busy poll in nanoseconds; 0 switches it off.
  explicit busy_poll(std::int64_t ns_max) noexcept : ns_max_(ns_max) {}

  /// Returns whether to busy-poll before the next wait; called once before each wait. After n
  /// misses in a row it returns false for the next 2^(n - 1) waits.
  bool is_worth_it() noexcept {
    if (ns_max_ == 0) return false;
    if (skips_left_ == 0) return true;
    --skips_left_;
    return false;
  }
  std::int64_t ns_max() const noexcept { return ns_max_; }

  /// Notes that a busy poll has found work.
  void hit() noexcept { skips_ = 0; }
  /// Notes that a busy poll has found nothing.
  void missed() noexcept {
    skips_ = skips_ == 0 ? 1 : skips_ < skips_max ? skips_ * 2 : skips_max;
    skips_left_ = skips_;
  }

 private:
  std::int64_t ns_max_;
  std::uint32_t skips_ = 0;
  std::uint32_t skips_left_ = 0;
};

}  // namespace beck::detail
