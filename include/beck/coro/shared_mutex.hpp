// SPDX-License-Identifier: BSL-1.0
// shared_mutex: many readers or one writer, in the order of the requests: a reader that comes after
// a waiting writer waits behind it, so neither side starves.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/waiter.hpp>
#include <cstddef>

namespace beck {

class shared_mutex;

namespace detail {

/// Ends an exclusive (Shared false) or a shared lock of a shared_mutex when it goes. As mutex_lock.
template <bool Shared>
class [[nodiscard]] basic_shared_mutex_lock {
 public:
  basic_shared_mutex_lock() noexcept = default;
  /// Takes over a lock of this kind.
  explicit basic_shared_mutex_lock(shared_mutex& held) noexcept : mutex_(&held) {}
  basic_shared_mutex_lock(basic_shared_mutex_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  basic_shared_mutex_lock& operator=(basic_shared_mutex_lock&& other) noexcept {
    basic_shared_mutex_lock previous(static_cast<basic_shared_mutex_lock&&>(*this));
    mutex_ = std::exchange(other.mutex_, nullptr);
    return *this;
  }
  ~basic_shared_mutex_lock() {
    if (mutex_ != nullptr) unlock();
  }

  /// Returns whether it holds a lock.
  bool owns_lock() const noexcept { return mutex_ != nullptr; }
  /// Unlocks. Requires owns_lock(), asserted.
  void unlock() noexcept;
  /// Returns the mutex, which stays locked; nullptr if it holds none.
  shared_mutex* release() noexcept { return std::exchange(mutex_, nullptr); }

 private:
  shared_mutex* mutex_ = nullptr;
};

}  // namespace detail

/// A guard of an exclusive lock, with the functions of mutex_lock.
using writer_lock = detail::basic_shared_mutex_lock<false>;
/// A guard of a shared lock, with the functions of mutex_lock.
using reader_lock = detail::basic_shared_mutex_lock<true>;

/// std::shared_mutex for coroutines. Thread, cancellation, memory and lifetime: as beck::mutex; if
/// a waiting writer is cancelled, the readers behind it continue.
class shared_mutex {
 public:
  /// For the library: how a wait_operation uses the primitive.
  template <bool Shared>
  class access {
   public:
    using primitive = shared_mutex;
    static constexpr const char* waits_for = "shared_mutex";
    static bool try_take(shared_mutex& m) noexcept {
      return Shared ? m.try_lock_shared() : m.try_lock();
    }
    static bool join(shared_mutex& m, detail::waiter& one) noexcept { return m.join(one, Shared); }
    static bool leave(shared_mutex& m, detail::waiter& one) noexcept { return m.leave(one); }
  };

  /// Makes an unlocked one, for one thread at a time.
  shared_mutex() noexcept = default;
  /// Makes an unlocked one, for any thread.
  explicit shared_mutex(detail::concurrent_t tag) noexcept : state_(tag) {}
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  /// Locks for writing. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<access<false>> lock() noexcept {
    return detail::wait_operation<access<false>>(*this);
  }
  /// Locks for writing. Completes with (error_code, writer_lock).
  detail::wait_operation<access<false>, writer_lock> scoped_lock() noexcept {
    return detail::wait_operation<access<false>, writer_lock>(*this);
  }
  /// Locks for writing if that needs no wait; returns whether it did.
  bool try_lock() noexcept {
    detail::state_guard guard(state_);
    if (writing_ || readers_ != 0) return false;
    return writing_ = true;
  }
  /// Unlocks. Requires, asserted, that it is locked for writing.
  void unlock() noexcept;

  /// Locks for reading. Completes with (error_code); error: operation_aborted.
  detail::wait_operation<access<true>> lock_shared() noexcept {
    return detail::wait_operation<access<true>>(*this);
  }
  /// Locks for reading. Completes with (error_code, reader_lock).
  detail::wait_operation<access<true>, reader_lock> scoped_lock_shared() noexcept {
    return detail::wait_operation<access<true>, reader_lock>(*this);
  }
  /// Locks for reading if that needs no wait; returns whether it did. False also if a waiter is
  /// queued.
  bool try_lock_shared() noexcept {
    detail::state_guard guard(state_);
    if (writing_ || !waiters_.empty()) return false;
    ++readers_;
    return true;
  }
  /// Unlocks. Requires, asserted, that it is locked for reading.
  void unlock_shared() noexcept;

 private:
  bool join(detail::waiter& one, bool shared) noexcept;
  bool leave(detail::waiter& one) noexcept;
  bool try_enter(bool shared) noexcept;
  void admit(detail::waiter_chain& admitted) noexcept;

  detail::state_lock state_;
  bool writing_ = false;
  std::size_t readers_ = 0;
  detail::waiter_list waiters_;
};

namespace detail {

template <bool Shared>
void basic_shared_mutex_lock<Shared>::unlock() noexcept {
  shared_mutex* const held = std::exchange(mutex_, nullptr);
  BECK_ASSERT(held != nullptr, "a guard of a shared_mutex was unlocked that holds no lock");
  if constexpr (Shared) {
    held->unlock_shared();
  } else {
    held->unlock();
  }
}

}  // namespace detail

}  // namespace beck
