// SPDX-License-Identifier: BSL-1.0
// Counters for statistics. One thread changes them without a lock or a locked instruction, and any
// thread reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace beck::detail {

/// A counter that one thread changes and any thread reads.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t n = 1) noexcept { add(std::uint64_t{0} - n); }
  void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace beck::detail
