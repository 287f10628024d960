// SPDX-License-Identifier: BSL-1.0
// The threads that may use a synchronisation primitive. By default it belongs to one thread at a
// time (one context, or a strand), and then its uncontended paths are a few plain instructions. A
// primitive constructed with beck::concurrent may be used from any thread: it has the same state
// behind a spin lock, which is held for a few instructions and never while user code runs.
#pragma once

namespace beck {

namespace detail {

/// The tag of primitives for several threads at once: `beck::mutex m(beck::concurrent);`.
class concurrent_t {
 public:
  explicit constexpr concurrent_t() noexcept {}
};

}  // namespace detail

/// Selects the constructors of primitives for several threads at once.
inline constexpr detail::concurrent_t concurrent{};

namespace detail {

/// Guards the state of one primitive; empty without the tag.
class state_lock {
 public:
  explicit state_lock(bool several_threads = false) noexcept : concurrent_(several_threads) {}
  explicit state_lock(concurrent_t) noexcept : concurrent_(true) {}
  state_lock(const state_lock&) = delete;
  state_lock& operator=(const state_lock&) = delete;

  bool is_concurrent() const noexcept { return concurrent_; }

  void lock() noexcept {
    if (concurrent_) lock_shared_state();
  }
  void unlock() noexcept {
    if (concurrent_) unlock_shared_state();
  }

 private:
  void lock_shared_state() noexcept;
  void unlock_shared_state() noexcept;
  void wait_until_free() const noexcept;

  const bool concurrent_;
  bool taken_ = false;
};

/// Called before every call of code that the library does not know: a library built without NDEBUG
/// ends the program here if the calling thread holds a state_lock.
void about_to_call_out() noexcept;

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

}  // namespace detail

}  // namespace beck
