// SPDX-License-Identifier: BSL-1.0
// What the library's lock-free classes are made of. They are templates over it, because the checker
// of tests/interleavings puts a model in its place and then runs them in every order that the
// memory model allows; the library itself has them made of this only.
#pragma once

#include <atomic>
#include <thread>

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

}  // namespace beck::detail
