// SPDX-License-Identifier: BSL-1.0
// The bytes of one write: short ones are copied one behind the other, long ones are lent by the
// exchanges, which must not end before the write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/base/buffer.hpp>
#include <beck/redis/byte_store.hpp>
#include <beck/redis/exchange.hpp>

namespace beck::redis::detail {

/// One write after the other. Thread: that of the session.
class gathered_write {
 public:
  /// The number of buffers of a write.
  static constexpr std::size_t parts_max = 16;

  /// Returns whether the last write has ended, and nothing was added since.
  bool empty() const noexcept { return count_ == 0; }
  /// Begins the next write. Requires empty().
  void begin() noexcept {
    BECK_ASSERT(empty(), "a write begins before the last one has ended");
    ++number_;
  }
  /// Adds bytes: a copy, or, if `lender` has them until the end of the write, a reference. Returns
  /// false if there is no room for a further buffer. Throws std::bad_alloc.
  bool add(std::string_view wire, exchange* lender);
  /// Returns whether the write refers to bytes of `one`.
  bool is_lent(exchange& one) const noexcept { return !empty() && one.marks().lent_to == number_; }
  /// Fills `to` with the buffers that are not written. Returns their number.
  std::size_t gather(const_buffer (&to)[parts_max]) const noexcept;
  /// Takes the number of bytes that were written. Returns whether the write has ended.
  bool take_written(std::size_t bytes) noexcept;
  /// Drops the bytes that are not written.
  void clear() noexcept {
    first_ = 0;
    count_ = 0;
    copied_.clear();
  }
  /// Frees memory that an idle connection does not need.
  void trim() noexcept {
    if (empty()) copied_.release();
  }

 private:
  /// A buffer of the write.
  struct segment {
    const char* lent;    // nullptr: at `offset` of copied_
    std::size_t offset;  // of the first byte that is not written
    std::size_t bytes;
  };

  byte_store copied_;
  segment segments_[parts_max] = {};
  std::size_t first_ = 0;  // that is not written whole
  std::size_t count_ = 0;
  std::uint64_t number_ = 0;
};

inline bool gathered_write::add(std::string_view wire, exchange* lender) {
  const bool is_lent = lender != nullptr;
  const bool goes_on = !is_lent && count_ != 0 && segments_[count_ - 1].lent == nullptr;
  if (!goes_on) {
    if (count_ == parts_max) return false;
    segments_[count_] = {is_lent ? wire.data() : nullptr, is_lent ? 0 : copied_.size(), 0};
  }
  if (is_lent) {
    lender->marks().lent_to = number_;
  } else {
    copied_.append(wire);
  }
  if (!goes_on) ++count_;
  segments_[count_ - 1].bytes += wire.size();
  return true;
}

inline std::size_t gathered_write::gather(const_buffer (&to)[parts_max]) const noexcept {
  std::size_t count = 0;
  for (std::size_t i = first_; i < count_; ++i) {
    const segment& part = segments_[i];
    const char* const begin = part.lent != nullptr ? part.lent : copied_.view().data();
    to[count++] = const_buffer(begin + part.offset, part.bytes);
  }
  return count;
}

inline bool gathered_write::take_written(std::size_t bytes) noexcept {
  for (; first_ < count_; ++first_) {
    segment& part = segments_[first_];
    if (bytes < part.bytes) {
      part.offset += bytes;
      part.bytes -= bytes;
      return false;
    }
    bytes -= part.bytes;
  }
  BECK_ASSERT(bytes == 0, "more bytes were written than the write has");
  clear();
  return true;
}

}  // namespace beck::redis::detail
