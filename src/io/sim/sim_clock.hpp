// SPDX-License-Identifier: BSL-1.0
// Virtual steady time. It moves only when the simulation moves it.
#pragma once

#include <cstdint>

namespace beck {

class sim_clock {
 public:
  /// Where every world begins: not zero, because no real clock shows zero when a program starts.
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000;

  std::int64_t now() const noexcept { return now_; }
  /// Never goes back.
  void advance_to(std::int64_t time) noexcept {
    if (time > now_) now_ = time;
  }

 private:
  std::int64_t now_ = epoch_ns;
};

}  // namespace beck
