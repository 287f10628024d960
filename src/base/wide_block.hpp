// SPDX-License-Identifier: BSL-1.0
// A byte_block that tests all 32 bytes with one instruction, on processors with AVX2. Only
// functions that are compiled for AVX2 may use it: those with BECK_WIDE, which are called if
// has_wide_blocks() returns true, and BECK_INLINE functions that are inlined into them.
#pragma once

#include "base/byte_block.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define BECK_WIDE [[gnu::target("avx2,bmi,bmi2,lzcnt")]]
#else
#define BECK_WIDE
#endif

/// Inlines a function into its callers, which may be compiled for another processor.
#define BECK_INLINE [[gnu::always_inline]] inline

namespace beck::detail {

#if defined(__x86_64__)

/// Returns whether this processor runs functions with BECK_WIDE.
inline bool has_wide_blocks() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

/// As byte_block.
class wide_block {
 public:
  static constexpr unsigned bytes = byte_block::bytes;

  BECK_WIDE explicit wide_block(const char* text) noexcept
      : all_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text))) {}

  BECK_WIDE std::uint32_t equal(char c) const noexcept {
    return bits_of(_mm256_cmpeq_epi8(all_, _mm256_set1_epi8(c)));
  }
  BECK_WIDE std::uint32_t controls() const noexcept {
    const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(all_, _mm256_set1_epi8(0x1f)), all_);
    return bits_of(_mm256_or_si256(low, _mm256_cmpeq_epi8(all_, _mm256_set1_epi8(0x7f))));
  }
  BECK_WIDE bool equals(const char* text, const char* bits) const noexcept {
    const wide_block wanted(text);
    const wide_block more(bits);
    return bits_of(_mm256_cmpeq_epi8(_mm256_or_si256(all_, more.all_), wanted.all_)) == 0xffffffff;
  }
  BECK_WIDE std::uint32_t not_in_target() const noexcept {
    const __m256i hash = _mm256_cmpeq_epi8(all_, _mm256_set1_epi8('#'));
    const __m256i next = _mm256_add_epi8(all_, _mm256_set1_epi8(1));
    return ~bits_of(_mm256_andnot_si256(hash, _mm256_cmpgt_epi8(next, _mm256_set1_epi8(0x21))));
  }
  BECK_WIDE std::uint32_t in_host_name() const noexcept {
    // There is a bit each for '-' and '.', for digits, for the letters to 'o' and for those after
    // 'o'. A character of a kind has its bit in both tables, that for the lower and that for the
    // higher four bits. For bytes from 0x80 on the first table returns 0.
    const __m128i by_low = _mm_setr_epi8(10, 14, 14, 14, 14, 14, 14, 14, 14, 14, 12, 4, 4, 5, 5, 4);
    const __m128i by_high = _mm_setr_epi8(0, 0, 1, 2, 4, 8, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(all_, 4), _mm256_set1_epi8(0x0f));
    const __m256i kind =
        _mm256_and_si256(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(by_low), all_),
                         _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(by_high), high));
    return ~bits_of(_mm256_cmpeq_epi8(kind, _mm256_setzero_si256()));
  }

 private:
  BECK_WIDE static std::uint32_t bits_of(__m256i truth) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(truth));
  }

  __m256i all_;
};

#else

constexpr bool has_wide_blocks() noexcept { return false; }
using wide_block = byte_block;

#endif

}  // namespace beck::detail
