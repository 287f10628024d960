// SPDX-License-Identifier: BSL-1.0
// A lock for a few instructions. It costs one atomic change where nobody else wants it; whoever
// finds it taken for long yields, since its holder has lost its processor.
#pragma once

#include "base/atomics.hpp"

namespace beck::detail {

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
