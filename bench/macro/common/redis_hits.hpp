// SPDX-License-Identifier: BSL-1.0
//
// The work that the peers of the benchmark redis_cache share: keys of 16 bytes in random order,
// their values, and the check of each. The values are 16 digits, or numbers of at most four.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "micro.hpp"

namespace bench {

class redis_hits {
 public:
  static constexpr std::size_t value_bytes = 16;

  // 64 keys, which stay in the nearest cache of the processor, or so many that they do not.
  static constexpr std::size_t few = 64;
  static constexpr std::size_t many = 10'000;

  redis_hits(std::size_t keys, bool has_numbers) {
    for (std::size_t i = 0; i < keys; ++i) {
      keys_.push_back("key-" + std::to_string(first_key + i));
      values_.push_back(std::to_string(has_numbers ? i : first_value + i));
    }
  }

  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }

  // Returns the next key to look for.
  const std::string& next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    at_ = static_cast<std::size_t>((state_ >> 33) % keys_.size());
    return keys_[at_];
  }
  // Checks the value of that key, and counts it.
  void take(long value) {
    require(value == static_cast<long>(at_), "a wrong number");
    ++taken_;
  }
  void take(std::string_view value) {
    require(value == values_[at_], "a wrong value");
    ++taken_;
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  static constexpr std::uint64_t first_key = 100'000'000'000;
  static constexpr std::uint64_t first_value = 1'000'000'000'000'000;

  std::vector<std::string> keys_;
  std::vector<std::string> values_;
  std::uint64_t state_ = 42;
  std::size_t at_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace bench
