// SPDX-License-Identifier: BSL-1.0
// semaphore: a number of permits that coroutines take and give back; how to bound what runs at
// once. Permits are handed over in the order of the requests.
#pragma once

#include <beck/detail/waiter.hpp>
#include <cstddef>

namespace beck {

/// A counting semaphore. While somebody waits, nobody else gets a permit.
/// Thread, cancellation, memory and lifetime: as beck::mutex; a cancelled wait takes no permit.
class semaphore {
 public:
  class acquire_access {
   public:
    using primitive = semaphore;
    static constexpr const char* waits_for = "semaphore";
    static bool try_take(semaphore& s) noexcept { return s.try_acquire(); }
    static bool join(semaphore& s, detail::waiter& one) noexcept;
    static bool leave(semaphore& s, detail::waiter& one) noexcept;
  };

  explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}
  semaphore(detail::concurrent_t tag, std::size_t permits) noexcept
      : state_(tag), permits_(permits) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  /// Takes one permit. Gives (error_code).
  detail::wait_operation<acquire_access> acquire() noexcept {
    return detail::wait_operation<acquire_access>(*this);
  }
  bool try_acquire() noexcept {
    detail::state_guard guard(state_);
    if (permits_ == 0) return false;
    --permits_;
    return true;
  }
  /// Gives permits back, or adds new ones. Who gets one continues later, on its own executor.
  void release(std::size_t permits = 1) noexcept {
    state_.lock();
    if (!waiters_.empty()) [[unlikely]]
      return hand_over(permits);
    permits_ += permits;
    state_.unlock();
  }

  /// How many permits are free.
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
