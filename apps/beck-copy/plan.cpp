// SPDX-License-Identifier: BSL-1.0
//
// Finding data and holes while copying, so that a file with a million holes costs no memory.
#include "plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace beck_copy {

plan::plan(const source& from, std::optional<std::uint64_t> length, bool sparse,
           std::size_t alignment)
    : from_(from), length_(length), sparse_(sparse && length), alignment_(alignment) {}

bool plan::next(std::size_t most, piece& out) {
  const std::uint64_t end = length_.value_or(std::numeric_limits<std::uint64_t>::max());
  if (position_ >= end || (sparse_ && position_ >= data_end_ && !find_data())) return false;
  const std::uint64_t limit = sparse_ ? std::min(end, data_end_) : end;
  out.offset = position_;
  out.length = static_cast<std::size_t>(std::min<std::uint64_t>(most, limit - position_));
  position_ += out.length;
  return true;
}

void plan::end_at(std::uint64_t offset) { length_ = std::min(length_.value_or(offset), offset); }

/// Moves to the next data, lseek(2). A file system that knows no holes, or fails, has one piece.
bool plan::find_data() {
  const auto at = static_cast<off_t>(from_.base() + position_);
  const off_t data = ::lseek(from_.fd(), at, SEEK_DATA);
  if (data < 0 && errno == ENXIO) {  // a hole to the end, or a source that has shrunk
    const off_t end = ::lseek(from_.fd(), 0, SEEK_END);
    if (end >= 0 && static_cast<std::uint64_t>(end) < from_.base() + *length_)
      end_at(std::max<std::uint64_t>(static_cast<std::uint64_t>(end), from_.base()) - from_.base());
    holes_ += *length_ - std::min(*length_, position_);
    position_ = *length_;
    return false;
  }
  const off_t hole = data < 0 ? -1 : ::lseek(from_.fd(), data, SEEK_HOLE);
  if (hole < 0) {
    sparse_ = false;
    return true;
  }
  const std::uint64_t begin = std::max(
      (static_cast<std::uint64_t>(data) - from_.base()) / alignment_ * alignment_, position_);
  const std::uint64_t raw_end = static_cast<std::uint64_t>(hole) - from_.base();
  holes_ += std::min(begin, *length_) - position_;
  position_ = begin;
  data_end_ = (raw_end + alignment_ - 1) / alignment_ * alignment_;
  return position_ < *length_;
}

}  // namespace beck_copy
