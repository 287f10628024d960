// SPDX-License-Identifier: BSL-1.0
// What the checker knows of memory: for each atomic location the values stored so far, in order;
// for each thread what it must have seen of them and what happened before it. A load may take any
// value that is not older than what its thread has seen.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace beck::interleavings {

/// Thread 0 sets up and checks; the model's own are 1 and up.
inline constexpr unsigned threads_max = 6;
inline constexpr unsigned locations_max = 16;
/// Values that are remembered of one location in one execution.
inline constexpr unsigned stores_max = 200;

using clock_array = std::array<std::uint16_t, threads_max>;

/// What a thread knows, and what a released value carries.
struct view {
  std::array<std::uint8_t, locations_max> seen{};  ///< by location: the oldest value it may take
  clock_array clock{};  ///< by thread: its operations up to here happened before

  void join_seen(const view& other) noexcept {
    for (unsigned i = 0; i < locations_max; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
  void join(const view& other) noexcept {
    join_seen(other);
    for (unsigned i = 0; i < threads_max; ++i) clock[i] = std::max(clock[i], other.clock[i]);
  }
  bool covers(const clock_array& used) const noexcept {
    for (unsigned i = 0; i < threads_max; ++i) {
      if (clock[i] < used[i]) return false;
    }
    return true;
  }
};

/// One value of a location, and what a load with acquire learns from it.
struct stored {
  std::uint64_t value;
  view released;
};

/// An atomic object.
struct location {
  std::vector<stored> stores;  ///< in modification order, which here is the order of execution
  clock_array used{};          ///< by thread: its last access
  bool destroyed = false;
};

/// Memory that is not atomic: who touched it last.
struct plain_record {
  clock_array reads{};
  clock_array writes{};
};

}  // namespace beck::interleavings
