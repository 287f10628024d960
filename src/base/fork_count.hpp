// SPDX-License-Identifier: BSL-1.0
// Detects a child of fork(2) without a system call (U16). The copy of a loop in a child shares its
// ring or its epoll instance with the parent. Threads that were inside the loop or held one of its
// locks do not exist in the child, so they never leave.
#pragma once

#include <atomic>
#include <mutex>

namespace beck::detail {

/// Relaxed: written only while a process has one thread.
inline constinit std::atomic<unsigned> forks_so_far{0};

/// Returns the number of forks between this process and the process that first called this
/// function. Thread: any.
unsigned fork_count() noexcept;

/// Returns fork_count(), faster. Requires that fork_count() was called before, by the caller or
/// when the caller's object was made.
inline unsigned known_fork_count() noexcept { return forks_so_far.load(std::memory_order_relaxed); }

/// Takes the lock of an object that was made when fork_count() was `forks`. Returns false, without
/// the lock, if the calling process is a child of fork and another thread held the lock at the
/// fork: then it never becomes free, and the data that it guards may be inconsistent.
inline bool take_unless_lost(std::unique_lock<std::mutex>& lock, unsigned forks) noexcept {
  if (forks != known_fork_count()) [[unlikely]]
    return lock.try_lock();
  lock.lock();
  return true;
}

/// Registers a lock of the whole program to be held during each fork, so that a child finds it free
/// and the data that it guards consistent. Must be called before the lock is used. Thread: any.
template <std::mutex& Lock>
void keep_over_forks() noexcept;

/// Registers the functions with pthread_atfork(3). If there is no memory for that, nothing is
/// registered, and a child misbehaves as it would without this call.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

template <std::mutex& Lock>
void keep_over_forks() noexcept {
  [[maybe_unused]] static const bool kept =
      (at_fork([] { Lock.lock(); }, [] { Lock.unlock(); }, [] { Lock.unlock(); }), true);
}

}  // namespace beck::detail
