// SPDX-License-Identifier: BSL-1.0
// Events. A manual_reset_event lets all waits pass until it is reset, an auto_reset_event lets one
// wait pass for each set().
#pragma once

#include <beck/detail/waiter.hpp>

namespace beck {

/// Open or closed; waits end while it is open. Thread, cancellation, memory: as beck::mutex.
/// Lifetime: as beck::latch.
class manual_reset_event {
 public:
  /// For the library: how a wait_operation uses the primitive.
  class wait_access {
   public:
    using primitive = manual_reset_event;
    static constexpr const char* waits_for = "event";
    static bool try_take(manual_reset_event& e) noexcept { return e.is_set(); }
    static bool join(manual_reset_event& e, detail::waiter& one) noexcept;
    static bool leave(manual_reset_event& e, detail::waiter& one) noexcept;
  };

  /// Makes a closed event, for one thread at a time.
  manual_reset_event() noexcept = default;
  /// Makes an open or closed event, for one thread at a time.
  explicit manual_reset_event(bool set) noexcept : set_(set) {}
  /// Makes an open or closed event, for any thread.
  explicit manual_reset_event(detail::concurrent_t tag, bool set = false) noexcept
      : state_(tag), set_(set) {}
  manual_reset_event(const manual_reset_event&) = delete;
  manual_reset_event& operator=(const manual_reset_event&) = delete;

  /// Opens the event. All waiters continue, later and on their own executors, even if it is reset
  /// meanwhile.
  void set() noexcept;
  /// Closes the event.
  void reset() noexcept {
    detail::state_guard guard(state_);
    set_ = false;
  }
  /// Returns whether the event is open.
  bool is_set() noexcept {
    detail::state_guard guard(state_);
    return set_;
  }
  /// Waits until the event is open. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<wait_access> wait() noexcept {
    return detail::wait_operation<wait_access>(*this);
  }

 private:
  detail::state_lock state_;
  bool set_ = false;
  detail::waiter_list waiters_;
};

/// Each set() lets one wait end: the one that started first, or the next one to start. It remembers
/// one set(), not their number (for that use a semaphore). Otherwise as manual_reset_event.
class auto_reset_event {
 public:
  /// For the library: how a wait_operation uses the primitive.
  class wait_access {
   public:
    using primitive = auto_reset_event;
    static constexpr const char* waits_for = "event";
    static bool try_take(auto_reset_event& e) noexcept { return e.try_wait(); }
    static bool join(auto_reset_event& e, detail::waiter& one) noexcept;
    static bool leave(auto_reset_event& e, detail::waiter& one) noexcept;
  };

  /// Makes an event that is not set, for one thread at a time.
  auto_reset_event() noexcept = default;
  /// Makes an event that is set or not, for one thread at a time.
  explicit auto_reset_event(bool set) noexcept : set_(set) {}
  /// Makes an event that is set or not, for any thread.
  explicit auto_reset_event(detail::concurrent_t tag, bool set = false) noexcept
      : state_(tag), set_(set) {}
  auto_reset_event(const auto_reset_event&) = delete;
  auto_reset_event& operator=(const auto_reset_event&) = delete;

  /// Ends the oldest wait; without one, sets the event. The waiter continues later, on its own
  /// executor.
  void set() noexcept;
  /// Clears the event.
  void reset() noexcept {
    detail::state_guard guard(state_);
    set_ = false;
  }
  /// Clears the event; returns whether it was set.
  bool try_wait() noexcept {
    detail::state_guard guard(state_);
    return std::exchange(set_, false);
  }
  /// Waits until the event is set, and clears it. Completes with (error_code); error:
  /// operation_aborted. A cancelled wait uses up no set().
  detail::wait_operation<wait_access> wait() noexcept {
    return detail::wait_operation<wait_access>(*this);
  }

 private:
  detail::state_lock state_;
  bool set_ = false;  // never while somebody waits
  detail::waiter_list waiters_;
};

}  // namespace beck
