// SPDX-License-Identifier: BSL-1.0
// Reading and writing addresses as text, character by character and without memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/assert.hpp>
#include <beck/detail/text_view.hpp>
#include <beck/net/address_v4.hpp>

// Reads numbers and characters from the front of a text. Used by the parsers of addresses.
namespace beck::detail {

/// A position in a text. No function goes back or past the end; a failed one may have read a part.
class text_reader {
 public:
  explicit text_reader(text_view text) noexcept : rest_(text) {}

  bool at_end() const noexcept { return rest_.empty(); }
  text_view rest() const noexcept { return rest_; }

  bool starts_with(char c) const noexcept { return !rest_.empty() && rest_[0] == c; }

  /// Reads c if it comes next.
  bool take(char c) noexcept {
    if (!starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Reads all digits that come next: one to `digits_max` of them, of a number up to `number_max`.
  bool take_number(unsigned base, std::size_t digits_max, std::uint32_t number_max,
                   std::uint32_t& number) noexcept {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (unsigned digit; !rest_.empty() && (digit = digit_of(rest_[0])) < base; ++digits) {
      if (digits == digits_max) return false;
      value = value * base + digit;  // 10 digits of base 10 and 4 of base 16 fit
      rest_.remove_prefix(1);
    }
    number = static_cast<std::uint32_t>(value);
    return digits != 0 && value <= number_max;
  }

 private:
  // 16 and above is no digit.
  static unsigned digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 16;
  }

  text_view rest_;
};

// Writes numbers and characters into a bounded array. Used by the texts of addresses and endpoints.

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

// The dotted form, which stands alone and at the end of an IPv6 address.
namespace beck::ip {
using namespace detail;

/// Reads "a.b.c.d" and nothing behind it.
bool read_dotted(text_reader& in, address_v4& a) noexcept;

template <std::size_t Capacity>
void write_dotted(text_writer<Capacity>& out, const address_v4& a) noexcept {
  const auto bytes = a.to_bytes();
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) out.put('.');
    out.put_number(bytes[i], 10);
  }
}

}  // namespace beck::ip
