// SPDX-License-Identifier: BSL-1.0
// Events: something has happened. A manual_reset_event lets everybody pass until it is reset, an
// auto_reset_event lets one pass for each time it is set.
#pragma once

#include <beck/detail/waiter.hpp>

namespace beck {

/// Open or closed; waits end while it is open. Thread, cancellation, memory: as beck::mutex.
/// Lifetime: as beck::latch.
class manual_reset_event {
 public:
  class wait_access {
   public:
    using primitive = manual_reset_event;
    static constexpr const char* waits_for = "event";
    static bool try_take(manual_reset_event& e) noexcept { return e.is_set(); }
    static bool join(manual_reset_event& e, detail::waiter& one) noexcept;
    static bool leave(manual_reset_event& e, detail::waiter& one) noexcept;
  };

  manual_reset_event() noexcept = default;
  explicit manual_reset_event(bool set) noexcept : set_(set) {}
  explicit manual_reset_event(detail::concurrent_t tag, bool set = false) noexcept
      : state_(tag), set_(set) {}
  manual_reset_event(const manual_reset_event&) = delete;
  manual_reset_event& operator=(const manual_reset_event&) = delete;

  /// All who wait continue, later and on their own executors, even if it is reset meanwhile.
  void set() noexcept;
  void reset() noexcept {
    detail::state_guard guard(state_);
    set_ = false;
  }
  bool is_set() noexcept {
    detail::state_guard guard(state_);
    return set_;
  }
  /// Gives (error_code).
  detail::wait_operation<wait_access> wait() noexcept {
    return detail::wait_operation<wait_access>(*this);
  }

 private:
  detail::state_lock state_;
  bool set_ = false;
  detail::waiter_list waiters_;
};

/// Each set() lets one wait end: the one that came first, or the next one to come. It remembers one
/// set(), not how many there were (that is a semaphore). As manual_reset_event otherwise.
class auto_reset_event {
 public:
  class wait_access {
   public:
    using primitive = auto_reset_event;
    static constexpr const char* waits_for = "event";
    static bool try_take(auto_reset_event& e) noexcept { return e.try_wait(); }
    static bool join(auto_reset_event& e, detail::waiter& one) noexcept;
    static bool leave(auto_reset_event& e, detail::waiter& one) noexcept;
  };

  auto_reset_event() noexcept = default;
  explicit auto_reset_event(bool set) noexcept : set_(set) {}
  explicit auto_reset_event(detail::concurrent_t tag, bool set = false) noexcept
      : state_(tag), set_(set) {}
  auto_reset_event(const auto_reset_event&) = delete;
  auto_reset_event& operator=(const auto_reset_event&) = delete;

  void set() noexcept;
  void reset() noexcept {
    detail::state_guard guard(state_);
    set_ = false;
  }
  /// Resets it if it is set; whether it was.
  bool try_wait() noexcept {
    detail::state_guard guard(state_);
    return std::exchange(set_, false);
  }
  /// Gives (error_code). A cancelled wait uses up no set().
  detail::wait_operation<wait_access> wait() noexcept {
    return detail::wait_operation<wait_access>(*this);
  }

 private:
  detail::state_lock state_;
  bool set_ = false;  // never while somebody waits
  detail::waiter_list waiters_;
};

}  // namespace beck
