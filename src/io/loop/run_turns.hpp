// SPDX-License-Identifier: BSL-1.0
// The threads that wait for their turn to run an exclusive loop. They sleep on a condition
// variable. A thread that leaves the loop pays one load while none waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace beck::detail {

/// Thread: any.
class run_turns {
 public:
  static constexpr std::int64_t no_deadline = INT64_MAX;

  /// Waits until `take()` has returned true, `is_over()` returns true, or `deadline` (steady clock,
  /// nanoseconds) has passed. Returns whether `take()` has returned true. The thread that makes one
  /// of the two true calls one() or all() afterwards.
  template <class Take, class IsOver>
  bool wait(Take&& take, IsOver&& is_over, std::int64_t deadline) {
    std::unique_lock lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    // Pairs with the fence in is_awaited_after_change(): this thread sees the change, or the other
    // one sees that this thread waits.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    bool taken = take();
    while (!taken && !is_over()) {
      const bool in_time = sleep(lock, deadline);
      taken = take();
      if (!in_time) break;
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return taken;
  }

  /// Wakes one thread, which takes the place that the caller has left.
  void one() noexcept {
    if (!is_awaited_after_change()) return;
    { const std::lock_guard lock(mutex_); }  // no thread is between its check and its sleep
    changed_.notify_one();
  }
  /// Wakes all threads.
  void all() noexcept {
    if (!is_awaited_after_change()) return;
    const std::lock_guard lock(mutex_);  // during the call: a woken thread may end the object
    changed_.notify_all();
  }

  /// Returns the number of threads that wait.
  unsigned waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

 private:
  bool is_awaited_after_change() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return waiting() != 0;
  }
  /// Returns false if `deadline` has passed.
  bool sleep(std::unique_lock<std::mutex>& lock, std::int64_t deadline) {
    if (deadline == no_deadline) {
      changed_.wait(lock);
      return true;
    }
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
    return changed_.wait_until(lock, until) == std::cv_status::no_timeout;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<unsigned> waiting_{0};
};

}  // namespace beck::detail
