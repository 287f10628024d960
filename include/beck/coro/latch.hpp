// SPDX-License-Identifier: BSL-1.0
// latch: waits until a number of events have happened. Counts down once; it does not start again.
#pragma once

#include <beck/detail/waiter.hpp>
#include <cstddef>

namespace beck {

/// std::latch for coroutines. Thread, cancellation and memory: as beck::mutex. Lifetime: it may go
/// as soon as every wait on it has ended, also while the count_down() that ended them still runs.
class latch {
 public:
  /// For the library: how a wait_operation uses the primitive.
  class wait_access {
   public:
    using primitive = latch;
    static constexpr const char* waits_for = "latch";
    static bool try_take(latch& l) noexcept { return l.try_wait(); }
    static bool join(latch& l, detail::waiter& one) noexcept;
    static bool leave(latch& l, detail::waiter& one) noexcept;
  };

  /// Makes a latch for one thread at a time.
  explicit latch(std::size_t count) noexcept : count_(count) {}
  /// Makes a latch for any thread.
  latch(detail::concurrent_t tag, std::size_t count) noexcept : state_(tag), count_(count) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  /// Decrements the count. At zero all waiters continue, later and on their own executors.
  /// Requires, asserted, that `count` is at most the present count.
  void count_down(std::size_t count = 1) noexcept;
  /// Returns whether the count is zero.
  bool try_wait() noexcept {
    detail::state_guard guard(state_);
    return count_ == 0;
  }
  /// Waits until the count is zero. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<wait_access> wait() noexcept {
    return detail::wait_operation<wait_access>(*this);
  }
  /// Decrements the count inside the call, then waits as wait().
  detail::wait_operation<wait_access> arrive_and_wait(std::size_t count = 1) noexcept {
    count_down(count);
    return wait();
  }

 private:
  detail::state_lock state_;
  std::size_t count_;
  detail::waiter_list waiters_;
};

}  // namespace beck
