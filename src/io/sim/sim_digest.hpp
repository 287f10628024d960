// SPDX-License-Identifier: BSL-1.0
// The hash of a run: what happened, when, with which result. Only numbers that mean the same on
// every compiler may go in: no addresses, no sizes of types, no real time.
#pragma once

#include <cstdint>

namespace beck::detail {

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
