// SPDX-License-Identifier: BSL-1.0
// Whether a loop that has nothing to do should look again for a while before it sleeps. A wake-up
// costs 10 microseconds or more, looking costs all of the processor: so only where it has paid
// lately.
#pragma once

#include <cstdint>

namespace beck::detail {

/// Thread: the runner.
class busy_poll {
 public:
  /// Waits that are not preceded by looking after the last miss of a row, at most.
  static constexpr std::uint32_t skips_max = 64;

  /// Looks for at most so long; 0: never.
  explicit busy_poll(std::int64_t ns_max) noexcept : ns_max_(ns_max) {}

  /// Asked before each wait. After n misses in a row the next 2^(n - 1) waits are not.
  bool is_worth_it() noexcept {
    if (ns_max_ == 0) return false;
    if (skips_left_ == 0) return true;
    --skips_left_;
    return false;
  }
  std::int64_t ns_max() const noexcept { return ns_max_; }

  void hit() noexcept { skips_ = 0; }
  void missed() noexcept {
    skips_ = skips_ == 0 ? 1 : skips_ < skips_max ? skips_ * 2 : skips_max;
    skips_left_ = skips_;
  }

 private:
  std::int64_t ns_max_;
  std::uint32_t skips_ = 0;
  std::uint32_t skips_left_ = 0;
};

}  // namespace beck::detail
