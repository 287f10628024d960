// SPDX-License-Identifier: BSL-1.0
//
// What the peers of the timer benchmark share: how much is armed, and for when. Programs arm and
// cancel inside their handlers, so a handler here does that for a batch of timers and posts itself:
// in between the waits that it ended are delivered.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "micro.hpp"

namespace bench {

// Timers that one handler arms.
constexpr std::size_t timer_batch = 64;
// What waits beside them in the cases `million` and `million_any`.
constexpr std::size_t timer_million = 1'000'000;
// Further away than any run lasts.
constexpr std::chrono::seconds timer_far{100};

// Points in time within one minute, and members of the million, in no order.
class timer_draws {
 public:
  std::chrono::nanoseconds after() { return timer_far + std::chrono::nanoseconds(next() >> 28); }
  std::size_t index() { return static_cast<std::size_t>((next() >> 33) % timer_million); }

 private:
  std::uint64_t next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }

  std::uint64_t state_ = 42;
};

// Waits that were started, and those that have ended.
struct timer_counts {
  std::uint64_t started = 0;
  std::uint64_t ended = 0;

  void require_all_ended() const { require(started == ended, "a wait was lost or ended twice"); }
};

}  // namespace bench
