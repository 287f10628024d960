// SPDX-License-Identifier: BSL-1.0
// Which threads may use a synchronisation primitive. As any object it belongs to one thread at a
// time (one context, or a strand), and then its uncontended paths are a few plain instructions. One
// that is constructed with beck::concurrent may be used from any thread: the same state behind a
// spin lock, which is held for a few instructions and never while anything else runs.
#pragma once

namespace beck {

/// The tag of primitives for several threads at once: `beck::mutex m(beck::concurrent);`.
class concurrent_t {
 public:
  explicit constexpr concurrent_t() noexcept {}
};
inline constexpr concurrent_t concurrent{};

/// Guards the state of one primitive; nothing at all without the tag.
class state_lock {
 public:
  explicit state_lock(bool several_threads = false) noexcept : concurrent_(several_threads) {}
  explicit state_lock(concurrent_t) noexcept : concurrent_(true) {}
  state_lock(const state_lock&) = delete;
  state_lock& operator=(const state_lock&) = delete;

  void lock() noexcept {
    if (concurrent_) lock_shared_state();
  }
  void unlock() noexcept {
    // Release: pairs with the acquiring exchange of whoever locks next.
    if (concurrent_) __atomic_store_n(&taken_, false, __ATOMIC_RELEASE);
  }

 private:
  void lock_shared_state() noexcept {
    // Acquire: sees what was done under the lock before; pairs with unlock().
    while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) wait_until_free();
  }
  void wait_until_free() const noexcept;

  const bool concurrent_;
  bool taken_ = false;
};

/// Holds a state_lock to the end of a block, or until unlock().
class state_guard {
 public:
  explicit state_guard(state_lock& lock) noexcept : lock_(&lock) { lock.lock(); }
  ~state_guard() {
    if (lock_ != nullptr) lock_->unlock();
  }
  state_guard(const state_guard&) = delete;
  state_guard& operator=(const state_guard&) = delete;

  void unlock() noexcept {
    lock_->unlock();
    lock_ = nullptr;
  }

 private:
  state_lock* lock_;
};

}  // namespace beck
