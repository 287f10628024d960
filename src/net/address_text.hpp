// SPDX-License-Identifier: BSL-1.0
// Reading and writing addresses as text, character by character and without memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/net/address_v4.hpp>

// The reader of numbers and characters that the parsers of addresses use.
namespace beck::detail {

/// A position in a text. No function goes back or past the end; a failed call may have read a part.
class text_reader {
 public:
  explicit text_reader(std::string_view text) noexcept : rest_(text) {}

  bool at_end() const noexcept { return rest_.empty(); }
  std::string_view rest() const noexcept { return rest_; }

  bool starts_with(char c) const noexcept { return !rest_.empty() && rest_[0] == c; }

  /// Reads `c` if it comes next; returns whether it did.
  bool take(char c) noexcept {
    if (!starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Reads all digits that come next. Returns false unless they are 1 to `digits_max` digits of a
  /// number up to `number_max`.
  bool take_number(unsigned base, std::size_t digits_max, std::uint32_t number_max,
                   std::uint32_t& number) noexcept {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (unsigned digit; !rest_.empty() && (digit = digit_of(rest_[0])) < base; ++digits) {
      if (digits == digits_max) return false;
      value = value * base + digit;  // cannot overflow: at most 10 decimal or 4 hexadecimal digits
      rest_.remove_prefix(1);
    }
    number = static_cast<std::uint32_t>(value);
    return digits != 0 && value <= number_max;
  }

 private:
  // Returns the value of a digit; 16 or more if `c` is none.
  static unsigned digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 16;
  }

  std::string_view rest_;
};

// The writer of numbers and characters for the texts of addresses and endpoints.

/// Appends to an array of `Capacity` characters, which must be large enough for the whole text.
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

  /// Copies the text to `out` and returns its size. Returns 0, and copies nothing, if `capacity` is
  /// too small.
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

// The dotted form, which is an IPv4 address, or the end of an IPv6 address.
namespace beck::ip {
using namespace detail;

/// Reads "a.b.c.d" up to the end of the text. Returns false for any other text.
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
