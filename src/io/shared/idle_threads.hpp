// SPDX-License-Identifier: BSL-1.0
// Decides where idle threads of a shared context wait: one (the leader) in the kernel for events
// and timers, the others (the followers) on a futex. Tells a thread that queues entries for itself
// whether another thread sleeps.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"

// sleep_state tells a thread of a shared context that queues an entry for itself, without a lock,
// whether a thread sleeps that would have to be woken for the entry.
namespace beck::detail {

/// A thread that is about to sleep calls set(), and then looks at every private queue. A thread
/// that has pushed onto its own queue then calls get(). The fences make sure that one of the two
/// sees the other.
template <class Atomics>
class basic_sleep_state {
 public:
  enum class level : unsigned char {
    nobody,     ///< no thread sleeps that could be woken
    watched,    ///< threads sleep; one of them will look at all queues soon
    unwatched,  ///< threads sleep, all of them until they are woken
  };

  /// Sets the level. Requires the lock of the context.
  void set(level now) noexcept {
    level_.store(now, std::memory_order_relaxed);
    Atomics::fence(std::memory_order_seq_cst);
  }
  /// Returns the level. Thread: any.
  level get() const noexcept {
    Atomics::fence(std::memory_order_seq_cst);
    return level_.load(std::memory_order_relaxed);
  }

 private:
  typename Atomics::template atomic<level> level_{level::nobody};
};

using sleep_state = basic_sleep_state<real_atomics>;

// A leader that stops waiting wakes a follower, which takes its place while the former leader runs
// handlers. New work wakes an idle thread, and costs no system call while no thread is idle.

/// The parts of basic_idle_threads (base/spin_lock.hpp).
struct idle_threads_parts : real_atomics {
  /// Waits while `word` is `expected`. Returns false if the deadline (steady clock, nanoseconds;
  /// INT64_MAX: none) has passed. May return true for no reason.
  static bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::int64_t deadline) noexcept;
  /// Wakes at most `count` threads that wait at `word`. Does not touch the word, which may be gone.
  static void futex_wake(const void* word, unsigned count) noexcept;
  static void wake(int wake_fd) noexcept;
  static void drain(int wake_fd, std::uint64_t total) noexcept;
};

/// Requires a run queue with a lock. A thread that takes the lock and finds the queue empty calls
/// begin_wait() before it unlocks, waits at the place that this returns, calls step_down() if that
/// was the kernel, and looks at the queue again. If it then finds work, or leaves run(), it calls
/// promote_follower() before it runs anything. A thread that pushes work calls claim() before it
/// unlocks, for each entry but one that it will look for itself; a thread that leaves run() while
/// work is queued calls it as well. The wake-ups that these functions return are delivered after
/// the unlock.
template <class Parts>
class basic_idle_threads {
 public:
  enum class role : unsigned char { leader, follower };

  /// Wake-ups that a thread owes. They do not refer to the idle_threads, which may be gone when
  /// they are delivered.
  struct wake_up {
    const void* word = nullptr;
    unsigned sleepers = 0;  ///< to wake at the futex
    int wake_fd = -1;       ///< to write to if not negative
  };

  void open(int wake_fd) noexcept { wake_fd_ = wake_fd; }

  // --- called by an idle thread
  /// Makes the caller idle. Returns the place of its wait. Requires the lock.
  role begin_wait() noexcept;
  /// Waits at the futex until claimed. Returns false if the deadline passed before; the caller is
  /// no longer idle then.
  bool sleep(std::int64_t deadline) noexcept { return sleep(deadline, &Parts::futex_wait); }
  /// As above, with another futex(2).
  template <class FutexWait>
  bool sleep(std::int64_t deadline, FutexWait&& futex_wait) noexcept;
  /// Ends the leader's wait in the kernel, whatever has ended it.
  void step_down() noexcept;
  /// Claims a follower if no thread waits in the kernel. Called after sleep() or step_down().
  wake_up promote_follower() noexcept;

  // --- any thread, under the lock
  /// Claims `most` followers for as many entries of new work, and the leader if there are fewer.
  /// `everybody`: claims all threads, for a stop.
  wake_up claim(unsigned most) noexcept;
  static constexpr unsigned everybody = UINT32_MAX;
  /// Claims the leader, which alone has to know of an earlier deadline.
  wake_up claim_leader() noexcept;
  /// Returns whether claim() would find a thread.
  bool anybody_idle() const noexcept {
    const std::uint32_t state = state_.load(std::memory_order_relaxed);
    return state >= one_sleeper || (state & leader_mask) == waiting;
  }

  // --- any thread
  static void deliver(const wake_up& owed) noexcept;

  // --- the end; no thread is idle
  /// Waits for the writes to the wake descriptor that are still owed. Afterwards it may be closed.
  void finish() noexcept;
  /// Returns the number of writes that are owed, for a caller that shares the wake descriptor with
  /// others and waits for the sum.
  std::uint64_t owed() const noexcept { return owed_; }

 private:
  template <class T>
  using atomic = typename Parts::template atomic<T>;
  template <class T>
  using plain = typename Parts::template plain<T>;

  // Accesses to both words are relaxed unless stated otherwise: the lock of the run queue, which is
  // taken between a wait and the work that it was claimed for, orders the rest. state_: the lowest
  // two bits are the state of the leader, the others count the followers that are not claimed.
  static constexpr std::uint32_t leader_mask = 3;
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t waiting = 1;
  static constexpr std::uint32_t called = 2;  // waiting, and a write to the wake descriptor is owed
  static constexpr std::uint32_t one_sleeper = 4;

  wake_up release_sleepers(unsigned count) noexcept;

  atomic<std::uint32_t> state_{nobody};
  atomic<std::uint32_t> permits_{0};  // the futex: claims that no follower has taken yet
  plain<int> wake_fd_ = -1;
  plain<std::uint64_t> owed_ = 0;  // claimed writes, which the leader counts
};

template <class Parts>
typename basic_idle_threads<Parts>::role basic_idle_threads<Parts>::begin_wait() noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    const bool free = (state & leader_mask) == nobody;
    // acquire: pairs with step_down(), where the last leader has counted the writes owed to it
    if (state_.compare_exchange_weak(state, free ? state | waiting : state + one_sleeper,
                                     std::memory_order_acquire, std::memory_order_relaxed)) {
      return free ? role::leader : role::follower;
    }
  }
}

template <class Parts>
template <class FutexWait>
bool basic_idle_threads<Parts>::sleep(std::int64_t deadline, FutexWait&& futex_wait) noexcept {
  for (;;) {
    std::uint32_t permits = permits_.load(std::memory_order_relaxed);
    while (permits != 0) {
      if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return true;
      }
    }
    if (futex_wait(permits_, 0, deadline)) continue;
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    while (state >= one_sleeper) {
      if (state_.compare_exchange_weak(state, state - one_sleeper, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
        return false;
      }
    }
    // all sleeping threads have been claimed: a permit is there or will be at once
    deadline = INT64_MAX;
  }
}

template <class Parts>
void basic_idle_threads<Parts>::step_down() noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  bool counted = false;
  do {
    if ((state & leader_mask) == called && !counted) {
      owed_ = owed_ + 1;
      counted = true;
    }
  } while (!state_.compare_exchange_weak(state, state & ~leader_mask,
                                         std::memory_order_release,  // pairs with begin_wait()
                                         std::memory_order_relaxed));
}

template <class Parts>
typename basic_idle_threads<Parts>::wake_up basic_idle_threads<Parts>::release_sleepers(
    unsigned count) noexcept {
  permits_.fetch_add(count, std::memory_order_relaxed);
  return {&permits_, count, -1};
}

template <class Parts>
typename basic_idle_threads<Parts>::wake_up basic_idle_threads<Parts>::promote_follower() noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while ((state & leader_mask) == nobody && state >= one_sleeper) {
    if (state_.compare_exchange_weak(state, state - one_sleeper, std::memory_order_relaxed,
                                     std::memory_order_relaxed)) {
      return release_sleepers(1);
    }
  }
  return {};
}

template <class Parts>
typename basic_idle_threads<Parts>::wake_up basic_idle_threads<Parts>::claim(
    unsigned most) noexcept {
  // the lock orders it behind each begin_wait()
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  unsigned sleepers = 0;
  bool call = false;
  do {
    sleepers = state / one_sleeper < most ? state / one_sleeper : most;
    call = sleepers < most && (state & leader_mask) == waiting;
    if (sleepers == 0 && !call) return {};
  } while (!state_.compare_exchange_weak(
      state, state - sleepers * one_sleeper + (call ? called - waiting : 0),
      std::memory_order_relaxed, std::memory_order_relaxed));
  wake_up owed = sleepers != 0 ? release_sleepers(sleepers) : wake_up{};
  if (call) owed.wake_fd = wake_fd_;
  return owed;
}

template <class Parts>
typename basic_idle_threads<Parts>::wake_up basic_idle_threads<Parts>::claim_leader() noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while ((state & leader_mask) == waiting) {
    if (state_.compare_exchange_weak(state, state - waiting + called, std::memory_order_relaxed,
                                     std::memory_order_relaxed)) {
      return {nullptr, 0, wake_fd_};
    }
  }
  return {};
}

template <class Parts>
void basic_idle_threads<Parts>::deliver(const wake_up& owed) noexcept {
  if (owed.sleepers != 0) Parts::futex_wake(owed.word, owed.sleepers);
  if (owed.wake_fd >= 0) Parts::wake(owed.wake_fd);
}

template <class Parts>
void basic_idle_threads<Parts>::finish() noexcept {
  if (owed_ != 0) Parts::drain(wake_fd_, owed_);
  owed_ = 0;
}

extern template class basic_idle_threads<idle_threads_parts>;
using idle_threads = basic_idle_threads<idle_threads_parts>;

}  // namespace beck::detail
