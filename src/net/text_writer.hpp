// SPDX-License-Identifier: BSL-1.0
//
// Writes numbers and characters into a bounded array. Used by the texts of addresses and endpoints.
#pragma once

#include <beck/base/assert.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// Appends to an array of Capacity characters, which must be large enough for all that is appended.
template <std::size_t Capacity>
class text_writer {
 public:
  const char* data() const noexcept { return text_; }
  std::size_t size() const noexcept { return size_; }

  void put(char c) noexcept {
    BECK_ASSERT(size_ < Capacity, "the text is longer than its computed maximum");
    text_[size_++] = c;
  }

  void put_number(std::uint32_t n, std::uint32_t base) noexcept {
    char digits[10];
    std::size_t count = 0;
    do {
      digits[count++] = "0123456789abcdef"[n % base];
      n /= base;
    } while (n != 0);
    while (count != 0) put(digits[--count]);
  }

  /// The whole text, or nothing and 0 if it has no room.
  std::size_t copy_to(char* out, std::size_t capacity) const noexcept {
    if (capacity < size_) return 0;
    for (std::size_t i = 0; i < size_; ++i) out[i] = text_[i];
    return size_;
  }

 private:
  char text_[Capacity];
  std::size_t size_ = 0;
};

}  // namespace beck::detail
