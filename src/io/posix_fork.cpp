// SPDX-License-Identifier: BSL-1.0
// pthread_atfork(3).
#include <atomic>

#include <pthread.h>

#include "io/fork_count.hpp"

namespace beck {
namespace {

std::atomic<unsigned> forks{0};  // relaxed: written only while a process has one thread

/// Without memory for the registration a child is not recognised: it misbehaves as it always did.
bool watch_forks() noexcept {
  return ::pthread_atfork(nullptr, nullptr,
                          [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
}

}  // namespace

unsigned fork_count() noexcept {
  [[maybe_unused]] static const bool watching = watch_forks();
  return forks.load(std::memory_order_relaxed);
}

}  // namespace beck
