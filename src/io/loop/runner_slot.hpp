// SPDX-License-Identifier: BSL-1.0
// The slot of an exclusive loop, whose holder alone may touch the loop: a thread inside run* or
// poll*, or a thread that borrows the idle loop for a moment to close, cancel or set something.
#pragma once

#include "base/spin_lock.hpp"

namespace beck::detail {

/// Thread: any.
template <class Atomics>
class basic_runner_slot {
 public:
  enum class holder : unsigned char {
    nobody,
    runner,    // inside run* or poll*
    borrower,  // a thread that closes, cancels or sets something of an idle loop, for a moment
  };

  /// Takes the slot. Returns false if a thread runs the loop. Waits for a borrower: that is no
  /// reason for run() to fail.
  bool take(holder as) noexcept {
    for (;;) {
      holder seen = holder::nobody;  // acquire: sees what the last holder did
      if (holder_.compare_exchange_strong(seen, as, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        return true;
      }
      if (seen == holder::runner) return false;
      Atomics::yield();
    }
  }

  /// Takes the slot if it is free, without waiting for a borrower. For a caller that tries again.
  bool try_take(holder as) noexcept {
    holder seen = holder::nobody;  // acquire: as take()
    return holder_.compare_exchange_strong(seen, as, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  /// Returns whether the next try_take() may succeed. Orders nothing.
  bool looks_free() const noexcept {
    return holder_.load(std::memory_order_relaxed) == holder::nobody;
  }

  /// Returns whether a thread is inside run* or poll*. Orders nothing.
  bool has_runner() const noexcept {
    return holder_.load(std::memory_order_relaxed) == holder::runner;
  }

  /// Frees the slot. Requires that the caller holds it.
  void leave() noexcept {
    holder_.store(holder::nobody, std::memory_order_release);  // pairs with the next take()
  }

 private:
  typename Atomics::template atomic<holder> holder_{holder::nobody};
};

using runner_slot = basic_runner_slot<real_atomics>;

}  // namespace beck::detail
