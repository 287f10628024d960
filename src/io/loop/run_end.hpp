// SPDX-License-Identifier: BSL-1.0
// What lets run() return because of other threads: stop(), and their last outstanding work. A
// thread that changes one of the two wakes the loop through its mailbox, with one entry that all of
// them share; the loop may be destroyed as soon as it has seen the change, so its destructor waits
// for those that are between the change and the end of their wake-up. And how long run() looks for
// events before it waits for them.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// `wake`, where it is a parameter, pushes the shared entry into the loop's mailbox; whatever runs
/// that entry calls woken().
template <class Atomics>
class basic_run_end {
 public:
  // --- the runner
  bool stopped() const noexcept {
    // Pairs with stop(): whoever leaves run() because of it may destroy the loop, and must find the
    // stopping thread counted as busy.
    return stopped_.load(std::memory_order_acquire);
  }
  void stop_here() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  void restart() noexcept { stopped_.store(false, std::memory_order_relaxed); }
  bool has_work() const noexcept { return work_.load(std::memory_order_acquire) != 0; }
  /// The shared entry has come out of the mailbox and may go in again. An exchange: a thread that
  /// found it under way, and so did not wake anybody, is seen to have made its change.
  void woken() noexcept { pushed_.exchange(false, std::memory_order_acq_rel); }
  /// Waits for threads that are still inside stop() or end_work(); then nobody else touches it.
  void wait_for_stragglers() const noexcept {
    while (busy_.load(std::memory_order_acquire) != 0) Atomics::yield();
  }

  // --- any thread
  /// More outstanding work; or less, by the runner.
  void count_work(long change) noexcept {
    // acq_rel: whoever takes the count to zero is seen to have done what it did before.
    work_.fetch_add(change, std::memory_order_acq_rel);
  }
  /// Less outstanding work, off the runner.
  template <class Wake>
  void end_work(long change, Wake&& wake) noexcept {
    busy_.fetch_add(1, std::memory_order_relaxed);  // from here on the destructor waits for us
    if (work_.fetch_add(change, std::memory_order_acq_rel) + change == 0) push(wake);
    busy_.fetch_sub(1, std::memory_order_release);
  }
  template <class Wake>
  void stop(Wake&& wake) noexcept {
    busy_.fetch_add(1, std::memory_order_relaxed);    // from here on the destructor waits for us
    stopped_.store(true, std::memory_order_release);  // pairs with stopped()
    push(wake);
    busy_.fetch_sub(1, std::memory_order_release);
  }

 private:
  template <class Wake>
  void push(Wake& wake) noexcept {
    if (!pushed_.exchange(true, std::memory_order_acq_rel)) wake();
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;

  atomic<bool> stopped_{false};  // the runner reads it all the time: apart from what others write
  alignas(64) atomic<bool> pushed_{false};  // the shared entry is in the mailbox
  atomic<long> work_{0};                    // work guards and what other contexts have for us
  atomic<unsigned> busy_{0};                // threads between a change and the end of their wake-up
};

using run_end = basic_run_end<real_atomics>;

// Whether a loop that has nothing to do should look again for a while before it sleeps. A wake-up
// costs 10 microseconds or more, looking costs all of the processor: so only where it has paid
// lately.

/// Thread: the runner.
class busy_poll {
 public:
  /// Waits that are not preceded by looking after the last miss of a row, at most.
  static constexpr std::uint32_t skips_max = 64;

  /// Looks for at most so long; 0: never.
  explicit busy_poll(std::int64_t ns_max) noexcept : ns_max_(ns_max) {}

  /// Asked before each wait. After n misses in a row the next 2^(n - 1) waits are not.
  bool is_worth_it() noexcept {
    if (ns_max_ == 0) return false;
    if (skips_left_ == 0) return true;
    --skips_left_;
    return false;
  }
  std::int64_t ns_max() const noexcept { return ns_max_; }

  void hit() noexcept { skips_ = 0; }
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
