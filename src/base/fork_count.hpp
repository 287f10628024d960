// SPDX-License-Identifier: BSL-1.0
// Tells a process from its parent without a system call (U16): a loop that was inherited by fork(2)
// shares its ring or its epoll instance with the parent, and the threads that were inside it or had
// one of its locks are not there to leave.
#pragma once

#include <atomic>
#include <mutex>

namespace beck::detail {

/// Relaxed: written only while a process has one thread.
inline constinit std::atomic<unsigned> forks_so_far{0};

/// How many forks lie between this process and the one that first asked. Any thread.
unsigned fork_count() noexcept;

/// The same for those who have asked before, or whose object has.
inline unsigned known_fork_count() noexcept { return forks_so_far.load(std::memory_order_relaxed); }

/// Takes a lock of something that was made `forks` forks after the first process. False: the
/// calling process is a child of fork, and another thread had the lock at that time. It is never
/// free again, and what it guards may be half changed.
inline bool take_unless_lost(std::unique_lock<std::mutex>& lock, unsigned forks) noexcept {
  if (forks != known_fork_count()) [[unlikely]]
    return lock.try_lock();
  lock.lock();
  return true;
}

/// Has a lock of the whole program be taken for the time of each fork, so that a child finds it
/// free and what it guards in order. To be called before the lock is used; any thread.
template <std::mutex& Lock>
void keep_over_forks() noexcept;

/// pthread_atfork(3). Without memory for it a child misbehaves as children always do.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

template <std::mutex& Lock>
void keep_over_forks() noexcept {
  [[maybe_unused]] static const bool kept =
      (at_fork([] { Lock.lock(); }, [] { Lock.unlock(); }, [] { Lock.unlock(); }), true);
}

}  // namespace beck::detail
