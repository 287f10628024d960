// SPDX-License-Identifier: BSL-1.0
// The clock of a simulated world, and the hash of everything that happens in it.
#pragma once

#include <cstdint>

namespace beck::detail {

/// Virtual steady time. Only the simulation moves it.
class sim_clock {
 public:
  /// The default start of a world: not zero, because no real clock shows zero when a program
  /// starts.
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000;

  /// The last time; INT64_MAX itself means never.
  static constexpr std::int64_t last_ns = INT64_MAX - 1;

  /// Returns `time` plus `ns` nanoseconds, but at most last_ns. Requires ns >= 0.
  static constexpr std::int64_t later(std::int64_t time, std::int64_t ns) noexcept {
    return ns > last_ns - time ? last_ns : time + ns;
  }

  explicit sim_clock(std::int64_t start) noexcept : now_(start < last_ns ? start : last_ns) {}

  std::int64_t now() const noexcept { return now_; }
  /// Moves the clock to `time`. Never moves it back, and stops at last_ns.
  void advance_to(std::int64_t time) noexcept {
    if (time > now_) now_ = time < last_ns ? time : last_ns;
  }

 private:
  std::int64_t now_;
};

/// The hash of a run: each event with its time and result. Only numbers that mean the same on every
/// compiler may go in: no addresses, no sizes of types, no real time.
class sim_digest {
 public:
  void fold(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0xd6e8feb86659fd93;
    value_ ^= value_ >> 32;
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0x2545f4914f6cdd1d;
};

}  // namespace beck::detail
