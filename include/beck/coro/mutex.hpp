// SPDX-License-Identifier: BSL-1.0
// mutex: at most one coroutine is between lock() and unlock(), across its awaits. It is handed over
// in the order of the requests.
#pragma once

#include <beck/detail/waiter.hpp>

namespace beck {

class mutex;

/// Unlocks its mutex when it goes, unless unlock() or release() came before. Move-only; a
/// default-constructed one holds nothing.
class [[nodiscard]] mutex_lock {
 public:
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

  bool owns_lock() const noexcept { return mutex_ != nullptr; }
  /// Requires owns_lock().
  void unlock() noexcept;
  /// Lets the mutex stay locked. Gives nullptr if it holds none.
  mutex* release() noexcept { return std::exchange(mutex_, nullptr); }

 private:
  mutex* mutex_ = nullptr;
};

/// Mutual exclusion for coroutines and handlers. unlock() hands over to who waits longest: while
/// somebody waits, nobody else gets it. Not recursive, and not tied to a thread: any coroutine may
/// unlock it.
///   auto lock = co_await m.scoped_lock();    beck::mutex_lock held = std::move(lock).value();
///   auto r = co_await m.lock();              ... m.unlock();
/// Thread: one at a time; with beck::concurrent any. Waiting is cancellable; who was handed the
/// mutex before a cancel has it. Memory: none. Lifetime: it outlives its guards and, if coroutines
/// of a context that is destroyed early use it, that context. Destroyed while handlers wait for it,
/// it destroys them un-run; their contexts must still be there.
/// Not guaranteed: that it is unlocked if a coroutine is destroyed while it holds it without guard.
class mutex {
 public:
  class lock_access {
   public:
    using primitive = mutex;
    static constexpr const char* waits_for = "mutex";
    static bool try_take(mutex& m) noexcept { return m.try_lock(); }
    static bool join(mutex& m, detail::waiter& one) noexcept;
    static bool leave(mutex& m, detail::waiter& one) noexcept;
  };

  mutex() noexcept = default;
  explicit mutex(detail::concurrent_t tag) noexcept : state_(tag) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Gives (error_code): locked, or operation_aborted.
  detail::wait_operation<lock_access> lock() noexcept {
    return detail::wait_operation<lock_access>(*this);
  }
  /// Gives (error_code, mutex_lock).
  detail::wait_operation<lock_access, mutex_lock> scoped_lock() noexcept {
    return detail::wait_operation<lock_access, mutex_lock>(*this);
  }
  bool try_lock() noexcept {
    detail::state_guard guard(state_);
    return !std::exchange(locked_, true);
  }
  /// Requires that it is locked. Who gets it continues later, on its own executor.
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

inline void mutex_lock::unlock() noexcept { std::exchange(mutex_, nullptr)->unlock(); }

}  // namespace beck
