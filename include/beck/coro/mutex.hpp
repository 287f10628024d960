// SPDX-License-Identifier: BSL-1.0
// mutex: at most one coroutine is between lock() and unlock(), across its awaits. The mutex is
// handed over in the order of the requests.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/waiter.hpp>

namespace beck {

class mutex;

/// Unlocks its mutex on destruction, unless unlock() or release() came before. Move-only; a
/// default-constructed one holds nothing.
class [[nodiscard]] mutex_lock {
 public:
  /// Holds nothing.
  mutex_lock() noexcept = default;
  /// Takes over a mutex that is locked.
  explicit mutex_lock(mutex& held) noexcept : mutex_(&held) {}
  mutex_lock(mutex_lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
  mutex_lock& operator=(mutex_lock&& other) noexcept {
    mutex_lock previous(static_cast<mutex_lock&&>(*this));
    mutex_ = std::exchange(other.mutex_, nullptr);
    return *this;
  }
  ~mutex_lock() {
    if (mutex_ != nullptr) unlock();
  }

  /// Returns whether it holds a mutex.
  bool owns_lock() const noexcept { return mutex_ != nullptr; }
  /// Unlocks the mutex. Requires owns_lock(), asserted.
  void unlock() noexcept;
  /// Returns the mutex, which stays locked; nullptr if it holds none.
  mutex* release() noexcept { return std::exchange(mutex_, nullptr); }

 private:
  mutex* mutex_ = nullptr;
};

/// Mutual exclusion for coroutines and handlers. unlock() hands over to the oldest waiter: while
/// there are waiters, no one else gets the mutex. Not recursive, and not tied to a thread: any
/// coroutine may unlock it.
///   auto lock = co_await m.scoped_lock();    beck::mutex_lock held = std::move(lock).value();
///   auto r = co_await m.lock();              ... m.unlock();
/// Thread: one at a time; with beck::concurrent any. Cancellation: a wait can be cancelled. If the
/// mutex was handed to the waiter before the cancellation, the wait succeeds. Memory: none.
/// Lifetime: it outlives its guards and, if coroutines of a context that is destroyed early use it,
/// that context. If it is destroyed while handlers wait for it, they are destroyed un-run; their
/// contexts must still exist.
/// Not guaranteed: that it is unlocked if a coroutine is destroyed while it holds it without a
/// guard.
class mutex {
 public:
  /// For the library: how a wait_operation uses the primitive.
  class lock_access {
   public:
    using primitive = mutex;
    static constexpr const char* waits_for = "mutex";
    static bool try_take(mutex& m) noexcept { return m.try_lock(); }
    static bool join(mutex& m, detail::waiter& one) noexcept;
    static bool leave(mutex& m, detail::waiter& one) noexcept;
  };

  /// Makes an unlocked mutex, for one thread at a time.
  mutex() noexcept = default;
  /// Makes an unlocked mutex, for any thread.
  explicit mutex(detail::concurrent_t tag) noexcept : state_(tag) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Locks the mutex. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<lock_access> lock() noexcept {
    return detail::wait_operation<lock_access>(*this);
  }
  /// Locks the mutex. Completes with (error_code, mutex_lock).
  detail::wait_operation<lock_access, mutex_lock> scoped_lock() noexcept {
    return detail::wait_operation<lock_access, mutex_lock>(*this);
  }
  /// Locks the mutex if it is free; returns whether it did.
  bool try_lock() noexcept {
    detail::state_guard guard(state_);
    return !std::exchange(locked_, true);
  }
  /// Unlocks the mutex. The next owner is resumed later, on its own executor. Requires, asserted,
  /// that it is locked.
  void unlock() noexcept {
    state_.lock();
    BECK_ASSERT(locked_, "a mutex was unlocked that is not locked");
    if (!waiters_.empty()) [[unlikely]]
      return hand_over();
    locked_ = false;
    state_.unlock();
  }

 private:
  void hand_over() noexcept;  // and unlocks the state

  detail::state_lock state_;
  bool locked_ = false;  // as long as somebody waits, too
  detail::waiter_list waiters_;
};

/// Unlocks the mutex. Requires owns_lock(), asserted.
inline void mutex_lock::unlock() noexcept {
  BECK_ASSERT(mutex_ != nullptr, "a mutex_lock was unlocked that holds no mutex");
  std::exchange(mutex_, nullptr)->unlock();
}

}  // namespace beck
