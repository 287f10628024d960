// SPDX-License-Identifier: BSL-1.0
// Tests 32 bytes of text at once. The result of each test is a mask in which bit i stands for byte
// i. SSE2, which every x86-64 processor has, tests 16 bytes with one to four instructions; on other
// processors each byte is tested alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace beck::detail {

/// Returns the index of the lowest bit of `mask`; 32 if it has none.
inline unsigned first_in(std::uint32_t mask) noexcept {
  return static_cast<unsigned>(std::countr_zero(mask | std::uint64_t{1} << 32));
}

/// Returns the index of the lowest bit of `mask`; 64 if it has none.
inline unsigned first_in(std::uint64_t mask) noexcept {
  return static_cast<unsigned>(std::countr_zero(mask));
}

class byte_block {
 public:
  static constexpr unsigned bytes = 32;

#if defined(__SSE2__)
  /// Loads the block. Requires that 32 bytes at `text` are readable.
  explicit byte_block(const char* text) noexcept
      : low_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text))),
        high_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16))) {}

  /// Returns the bytes that are equal to `c`.
  std::uint32_t equal(char c) const noexcept {
    const __m128i wanted = _mm_set1_epi8(c);
    return mask_of([&](__m128i part) { return _mm_cmpeq_epi8(part, wanted); });
  }
  /// Returns the control characters: 0x00 to 0x1F, and 0x7F.
  std::uint32_t controls() const noexcept {
    const __m128i last = _mm_set1_epi8(0x1f);
    const __m128i del = _mm_set1_epi8(0x7f);
    return mask_of([&](__m128i part) {
      return _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(part, last), part),
                          _mm_cmpeq_epi8(part, del));
    });
  }
  /// Returns whether all bytes equal those at `text` once the bits at `bits` are set.
  bool equals(const char* text, const char* bits) const noexcept {
    const byte_block wanted(text);
    const byte_block more(bits);
    const __m128i low = _mm_cmpeq_epi8(_mm_or_si128(low_, more.low_), wanted.low_);
    const __m128i high = _mm_cmpeq_epi8(_mm_or_si128(high_, more.high_), wanted.high_);
    return bits_of(_mm_and_si128(low, high)) == 0xffff;
  }
  /// Returns the bytes that no request target has: those outside 0x21 to 0x7E, and '#'.
  std::uint32_t not_in_target() const noexcept {
    const __m128i one = _mm_set1_epi8(1);
    const __m128i hash = _mm_set1_epi8('#');
    // As signed values, only the successors of 0x21 to 0x7E are greater than 0x21.
    const __m128i limit = _mm_set1_epi8(0x21);
    return ~mask_of([&](__m128i part) {
      return _mm_andnot_si128(_mm_cmpeq_epi8(part, hash),
                              _mm_cmpgt_epi8(_mm_add_epi8(part, one), limit));
    });
  }
  /// Returns letters, digits, '-' and '.'.
  std::uint32_t in_host_name() const noexcept {
    return mask_of([](__m128i part) {
      const __m128i letter =
          _mm_sub_epi8(_mm_or_si128(part, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
      const __m128i digit = _mm_sub_epi8(part, _mm_set1_epi8('0'));
      const __m128i dot = _mm_sub_epi8(part, _mm_set1_epi8('-'));
      return _mm_or_si128(
          _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter),
                       _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit)),
          _mm_cmpeq_epi8(_mm_min_epu8(dot, _mm_set1_epi8(1)), dot));
    });
  }

 private:
  template <class Ask>
  std::uint32_t mask_of(Ask ask) const noexcept {
    return bits_of(ask(low_)) | bits_of(ask(high_)) << 16;
  }
  static std::uint32_t bits_of(__m128i truth) noexcept {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(truth));
  }

  __m128i low_;
  __m128i high_;
#else
  /// Loads the block. Requires that 32 bytes at `text` are readable.
  explicit byte_block(const char* text) noexcept { std::memcpy(part_, text, bytes); }

  /// Returns the bytes that are equal to `c`.
  std::uint32_t equal(char c) const noexcept {
    return mask_of([c](char byte) { return byte == c; });
  }
  /// Returns the control characters: 0x00 to 0x1F, and 0x7F.
  std::uint32_t controls() const noexcept {
    return mask_of(
        [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; });
  }
  /// Returns whether all bytes equal those at `text` once the bits at `bits` are set.
  bool equals(const char* text, const char* bits) const noexcept {
    for (unsigned i = 0; i < bytes; ++i)
      if (static_cast<char>(part_[i] | bits[i]) != text[i]) return false;
    return true;
  }
  /// Returns the bytes that no request target has: those outside 0x21 to 0x7E, and '#'.
  std::uint32_t not_in_target() const noexcept {
    return mask_of([](char byte) {
      const auto value = static_cast<unsigned char>(byte);
      return value < 0x21 || value > 0x7e || byte == '#';
    });
  }
  /// Returns letters, digits, '-' and '.'.
  std::uint32_t in_host_name() const noexcept {
    return mask_of([](char byte) {
      const char letter = static_cast<char>(byte | 0x20);
      return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
             byte == '.';
    });
  }

 private:
  template <class Ask>
  std::uint32_t mask_of(Ask ask) const noexcept {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < bytes; ++i) mask |= std::uint32_t{ask(part_[i])} << i;
    return mask;
  }

  char part_[bytes];
#endif
};

}  // namespace beck::detail
