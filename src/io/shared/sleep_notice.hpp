// SPDX-License-Identifier: BSL-1.0
// What a thread of a shared context that queues something for itself must know of the others, and
// learns without a lock: whether one sleeps that would have to be woken for it.
#pragma once

#include "base/atomics.hpp"

namespace beck::detail {

/// Whoever is about to sleep says so with set(), then looks at every private queue; whoever has
/// pushed onto its own then asks with get(). The fences make sure that one of the two sees the
/// other.
template <class Atomics>
class basic_sleep_notice {
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

using sleep_notice = basic_sleep_notice<real_atomics>;

}  // namespace beck::detail
