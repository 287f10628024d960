// SPDX-License-Identifier: BSL-1.0
// Bytes come into a write and leave it.
#include "redis/session/gathered_write.hpp"

namespace beck::redis::detail {

bool gathered_write::add(std::string_view wire, exchange* lender) {
  const bool is_lent = lender != nullptr;
  const bool goes_on = !is_lent && count_ != 0 && segments_[count_ - 1].lent == nullptr;
  if (!goes_on) {
    if (count_ == parts_max) return false;
    segments_[count_] = {is_lent ? wire.data() : nullptr, is_lent ? 0 : copied_.size(), 0};
  }
  if (is_lent) {
    lender->lend_to(number_);
  } else {
    copied_.append(wire);
  }
  if (!goes_on) ++count_;
  segments_[count_ - 1].bytes += wire.size();
  return true;
}

std::size_t gathered_write::gather(const_buffer (&to)[parts_max]) const noexcept {
  std::size_t count = 0;
  for (std::size_t i = first_; i < count_; ++i) {
    const segment& part = segments_[i];
    const char* const begin = part.lent != nullptr ? part.lent : copied_.view().data();
    to[count++] = const_buffer(begin + part.offset, part.bytes);
  }
  return count;
}

bool gathered_write::take_written(std::size_t bytes) noexcept {
  for (; first_ < count_; ++first_) {
    segment& part = segments_[first_];
    if (bytes < part.bytes) {
      part.offset += bytes;
      part.bytes -= bytes;
      return false;
    }
    bytes -= part.bytes;
  }
  clear();
  return true;
}

void gathered_write::clear() noexcept {
  first_ = 0;
  count_ = 0;
  copied_.clear();
}

}  // namespace beck::redis::detail
