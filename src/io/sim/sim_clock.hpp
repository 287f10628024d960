// SPDX-License-Identifier: BSL-1.0
// Virtual steady time. It moves only when the simulation moves it.
#pragma once

#include <cstdint>

namespace beck::detail {

class sim_clock {
 public:
  /// Where a world begins if it is not told: not zero, because no real clock shows zero when a
  /// program starts.
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000;

  /// The end of time; INT64_MAX itself means never.
  static constexpr std::int64_t last_ns = INT64_MAX - 1;

  /// `time` and `ns` nanoseconds, but not after the end of time. Requires ns >= 0.
  static constexpr std::int64_t later(std::int64_t time, std::int64_t ns) noexcept {
    return ns > last_ns - time ? last_ns : time + ns;
  }

  explicit sim_clock(std::int64_t start) noexcept : now_(start < last_ns ? start : last_ns) {}

  std::int64_t now() const noexcept { return now_; }
  /// Never goes back, and stops at the end of time.
  void advance_to(std::int64_t time) noexcept {
    if (time > now_) now_ = time < last_ns ? time : last_ns;
  }

 private:
  std::int64_t now_;
};

}  // namespace beck::detail
