// SPDX-License-Identifier: BSL-1.0
// The atomics of parts that tests/interleavings runs in every order, and a lock for a few
// instructions that spins, then sleeps.
#pragma once

#include <atomic>
#include <thread>

// What the library's lock-free classes are made of. They are templates over it, because the checker
// of tests/interleavings puts a model in its place and then runs them in every order that the
// memory model allows; the library itself has them made of this only.
namespace beck::detail {

struct real_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  /// A member that threads use one after the other, ordered by the atomics.
  template <class T>
  using plain = T;
  /// For whoever spins until another thread has done the rest of something short.
  static void yield() noexcept { std::this_thread::yield(); }
  /// How often a spin lock is looked at before its holder is taken to have lost its processor.
  static constexpr unsigned spins_max = 200;
  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
};

// A lock for a few instructions. It costs one atomic change where nobody else wants it; whoever
// finds it taken for long yields, since its holder has lost its processor.

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

  /// Until the next try_lock() is worth it; orders nothing.
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
