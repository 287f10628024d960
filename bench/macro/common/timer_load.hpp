// SPDX-License-Identifier: BSL-1.0
//
// The load that the peers of the timer benchmark share: the number of timers, and their times.
// Programs arm and cancel timers inside their handlers, so a handler here does that for a batch of
// timers and posts itself; the waits that it ended are delivered before it runs again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "micro.hpp"

namespace bench {

// The number of timers that one handler arms.
constexpr std::size_t timer_batch = 64;
// The number of timers that wait beside them in the cases `million` and `million_any`.
constexpr std::size_t timer_million = 1'000'000;
// A duration longer than any run.
constexpr std::chrono::seconds timer_far{100};

// Draws durations from `timer_far` to 69 seconds more, and indices below `timer_million`, in random
// order.
class timer_draws {
 public:
  std::chrono::nanoseconds after() { return timer_far + std::chrono::nanoseconds(next() >> 28); }
  std::size_t index() { return static_cast<std::size_t>((next() >> 33) % timer_million); }

 private:
  std::uint64_t next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }

  std::uint64_t state_ = 42;
};

// The numbers of waits that were started, and of waits that have ended.
struct timer_counts {
  std::uint64_t started = 0;
  std::uint64_t ended = 0;

  void require_all_ended() const { require(started == ended, "a wait was lost or ended twice"); }
};

}  // namespace bench
