// SPDX-License-Identifier: BSL-1.0
// The atomics of the classes that tests/interleavings runs in every order, and a lock for a few
// instructions, which spins and then yields.
#pragma once

#include <atomic>
#include <thread>

// The library's lock-free classes are templates over their atomics, because the checker of
// tests/interleavings substitutes a model and then runs them in every order that the memory model
// allows. The library itself instantiates them with `real_atomics` only.
namespace beck::detail {

struct real_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  /// The type of a member that threads use one after the other, ordered by the atomics.
  template <class T>
  using plain = T;
  /// Yields the processor, in a loop that waits for another thread to finish a few instructions.
  static void yield() noexcept { std::this_thread::yield(); }
  /// The number of times that a spin lock is tested before its holder is assumed to be preempted.
  static constexpr unsigned spins_max = 200;
  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
};

/// A lock for a few instructions. Without contention it costs one atomic change. A thread that
/// waits long for it yields, because the holder is probably preempted.
template <class Atomics>
class basic_spin_lock {
 public:
  bool try_lock() noexcept {
    bool seen = false;  // acquire: pairs with unlock()
    return taken_.compare_exchange_strong(seen, true, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() noexcept {
    while (!try_lock()) wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

  /// Spins until the lock looks free, and yields after `spins_max` tests. Provides no order: the
  /// try_lock() that follows does.
  void wait() const noexcept {
    for (unsigned i = 0; i < Atomics::spins_max; ++i) {
      if (!taken_.load(std::memory_order_relaxed)) return;
    }
    Atomics::yield();
  }

 private:
  typename Atomics::template atomic<bool> taken_{false};
};

using spin_lock = basic_spin_lock<real_atomics>;

}  // namespace beck::detail
