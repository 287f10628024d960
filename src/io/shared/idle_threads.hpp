// SPDX-License-Identifier: BSL-1.0
// Decides where idle threads of a shared context wait: one (the leader) in the kernel for events
// and timers, the others on a futex; and tells a thread that goes to sleep what came meanwhile.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"

// What a thread of a shared context that queues something for itself must know of the others, and
// learns without a lock: whether one sleeps that would have to be woken for it.
namespace beck::detail {

/// Whoever is about to sleep says so with set(), then looks at every private queue; whoever has
/// pushed onto its own then asks with get(). The fences make sure that one of the two sees the
/// other.
template <class Atomics>
class basic_sleep_state {
 public:
  enum class level : unsigned char {
    nobody,     ///< none that could be woken
    watched,    ///< some, and one of them looks at all queues before long
    unwatched,  ///< some, and all of them sleep until they are woken
  };

  /// Under the lock of the context.
  void set(level now) noexcept {
    level_.store(now, std::memory_order_relaxed);
    Atomics::fence(std::memory_order_seq_cst);
  }
  /// Any thread.
  level get() const noexcept {
    Atomics::fence(std::memory_order_seq_cst);
    return level_.load(std::memory_order_relaxed);
  }

 private:
  typename Atomics::template atomic<level> level_{level::nobody};
};

using sleep_state = basic_sleep_state<real_atomics>;

// Who of the idle runners of a shared context waits where: one in the kernel, for descriptors and
// timers, the others on a futex. A leader that stops waiting wakes a follower that takes its
// place while it runs handlers; new work wakes one of them, and costs no system call
// while nobody is idle.

/// The parts that basic_idle_threads is made of (base/spin_lock.hpp).
struct idle_threads_parts : real_atomics {
  /// Waits while `word` is `expected`; false: the deadline (steady clock, nanoseconds; INT64_MAX:
  /// none) has passed. May return true for no reason.
  static bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::int64_t deadline) noexcept;
  /// The word itself is not touched, and may be gone.
  static void futex_wake(const void* word, unsigned count) noexcept;
  static void wake(int wake_fd) noexcept;
  static void drain(int wake_fd, std::uint64_t total) noexcept;
};

/// Requires a run queue with a lock. A runner takes the lock and finds the queue empty: it calls
/// begin_wait() before it unlocks, waits where that says, calls step_down() if that was the kernel,
/// and looks at the queue again. If it then finds work, or leaves run(), it calls
/// promote_follower() before it runs anything. Whoever pushes work calls claim() before it unlocks,
/// for each entry but one that it will look for itself; whoever leaves run() while work is queued
/// calls it as well. What all of these give is delivered after the unlock.
template <class Parts>
class basic_idle_threads {
 public:
  enum class role : unsigned char { leader, follower };

  /// Wake-ups that a thread owes. Names no idle_threads: that may be gone when they are delivered.
  struct wake_up {
    const void* word = nullptr;
    unsigned sleepers = 0;  ///< to wake at the futex
    int wake_fd = -1;       ///< to write to if not negative
  };

  void open(int wake_fd) noexcept { wake_fd_ = wake_fd; }

  // --- a runner, idle
  /// Under the lock. Where to wait.
  role begin_wait() noexcept;
  /// At the futex, until claimed. False: the deadline passed before that, and it is not idle any
  /// more.
  bool sleep(std::int64_t deadline) noexcept { return sleep(deadline, &Parts::futex_wait); }
  /// The same, with another futex(2).
  template <class FutexWait>
  bool sleep(std::int64_t deadline, FutexWait&& futex_wait) noexcept;
  /// Has returned from the kernel, for whatever reason.
  void step_down() noexcept;
  /// After sleep() or step_down(): one who sleeps is claimed if nobody waits in the kernel.
  wake_up promote_follower() noexcept;

  // --- any thread, under the lock
  /// For `most` entries of new work: as many sleepers, and the one in the kernel if there are
  /// fewer. `everybody`: for a stop.
  wake_up claim(unsigned most) noexcept;
  static constexpr unsigned everybody = UINT32_MAX;
  /// For what only the one in the kernel must know: an earlier deadline.
  wake_up claim_leader() noexcept;
  /// Whether claim() would find somebody.
  bool anybody_idle() const noexcept {
    const std::uint32_t state = state_.load(std::memory_order_relaxed);
    return state >= one_sleeper || (state & leader_mask) == waiting;
  }

  // --- any thread
  static void deliver(const wake_up& owed) noexcept;

  // --- the end; nobody is idle
  /// Waits for writes to the wake descriptor that are still owed; after it that may be closed.
  void finish() noexcept;
  /// For who shares the wake descriptor with others, and waits for the sum of what all of them owe.
  std::uint64_t owed() const noexcept { return owed_; }

 private:
  template <class T>
  using atomic = typename Parts::template atomic<T>;
  template <class T>
  using plain = typename Parts::template plain<T>;

  // Both words are relaxed where nothing else is said: the lock of the run queue, which lies
  // between waiting and whatever a claim was for, orders the rest. state_: the lowest two bits say
  // who is in the kernel, the others count the sleepers that nobody has claimed.
  static constexpr std::uint32_t leader_mask = 3;
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t waiting = 1;
  static constexpr std::uint32_t called = 2;  // waiting, and a write to the wake descriptor is owed
  static constexpr std::uint32_t one_sleeper = 4;

  wake_up release_sleepers(unsigned count) noexcept;

  atomic<std::uint32_t> state_{nobody};
  atomic<std::uint32_t> permits_{0};  // the futex: claims that no sleeper has taken yet
  plain<int> wake_fd_ = -1;
  plain<std::uint64_t> owed_ = 0;  // writes that were claimed; whoever is in the kernel counts
};

template <class Parts>
typename basic_idle_threads<Parts>::role basic_idle_threads<Parts>::begin_wait() noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    const bool free = (state & leader_mask) == nobody;
    // acquire: the last one in the kernel has counted what was owed to it
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
    deadline = INT64_MAX;  // all that sleep have been claimed: a permit is there or about to be
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
  std::uint32_t state = state_.load(std::memory_order_relaxed);  // the lock shows who has settled
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
