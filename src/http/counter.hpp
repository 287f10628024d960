// SPDX-License-Identifier: BSL-1.0
// Counters of a server or a client, which its thread changes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace beck::http::detail {

/// A counter that one thread changes and any thread reads.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t n = 1) noexcept { add(std::uint64_t{0} - n); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace beck::http::detail
