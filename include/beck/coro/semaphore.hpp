// SPDX-License-Identifier: BSL-1.0
// semaphore: a number of permits that coroutines acquire and release; bounds concurrency. Permits
// are handed over in the order of the requests.
#pragma once

#include <beck/detail/waiter.hpp>
#include <cstddef>

namespace beck {

/// A counting semaphore. While there are waiters, no one else gets a permit.
/// Thread, cancellation, memory and lifetime: as beck::mutex; a cancelled wait takes no permit.
class semaphore {
 public:
  /// For the library: how a wait_operation uses the primitive.
  class acquire_access {
   public:
    using primitive = semaphore;
    static constexpr const char* waits_for = "semaphore";
    static bool try_take(semaphore& s) noexcept { return s.try_acquire(); }
    static bool join(semaphore& s, detail::waiter& one) noexcept;
    static bool leave(semaphore& s, detail::waiter& one) noexcept;
  };

  /// Makes a semaphore with `permits` free permits, for one thread at a time.
  explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}
  /// Makes a semaphore with `permits` free permits, for any thread.
  semaphore(detail::concurrent_t tag, std::size_t permits) noexcept
      : state_(tag), permits_(permits) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  /// Acquires one permit. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<acquire_access> acquire() noexcept {
    return detail::wait_operation<acquire_access>(*this);
  }
  /// Acquires a permit if one is free; returns whether it did.
  bool try_acquire() noexcept {
    detail::state_guard guard(state_);
    if (permits_ == 0) return false;
    --permits_;
    return true;
  }
  /// Releases permits, or adds new ones. A waiter that gets one continues later, on its own
  /// executor.
  void release(std::size_t permits = 1) noexcept {
    state_.lock();
    if (!waiters_.empty()) [[unlikely]]
      return hand_over(permits);
    permits_ += permits;
    state_.unlock();
  }

  /// Returns the number of free permits.
  std::size_t available() noexcept {
    detail::state_guard guard(state_);
    return permits_;
  }

 private:
  void hand_over(std::size_t permits) noexcept;  // and unlocks the state

  detail::state_lock state_;
  std::size_t permits_;  // 0 as long as somebody waits
  detail::waiter_list waiters_;
};

}  // namespace beck
