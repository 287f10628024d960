// SPDX-License-Identifier: BSL-1.0
//
// Which bytes are to be copied next: the pieces of a source in order, without its holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "source.hpp"

namespace beck_copy {

/// Offsets count from the begin of the copy.
struct piece {
  std::uint64_t offset = 0;
  std::size_t length = 0;
};

/// One thread.
class plan {
 public:
  /// `length`: how much to copy; nothing: until the end. `sparse`: leave out holes. `alignment`: of
  /// the begin of each piece and, but for the last one, its length.
  plan(const source& from, std::optional<std::uint64_t> length, bool sparse, std::size_t alignment);

  /// The next piece, of at most `most` bytes. False: that was all.
  bool next(std::size_t most, piece& out);
  /// The end of the last piece was not read: it comes again. Requires no next() in between.
  void give_back(std::size_t bytes) { position_ -= bytes; }
  /// The source has no bytes from `offset` on.
  void end_at(std::uint64_t offset);

  /// How much there is to copy, with holes; after end_at() how much there was.
  std::optional<std::uint64_t> length() const { return length_; }
  /// Bytes in holes that were left out.
  std::uint64_t holes() const { return holes_; }
  std::uint64_t position() const { return position_; }

 private:
  bool find_data();

  const source& from_;
  std::optional<std::uint64_t> length_;
  std::uint64_t position_ = 0;
  std::uint64_t data_end_ = 0;
  std::uint64_t holes_ = 0;
  bool sparse_;
  std::size_t alignment_;
};

}  // namespace beck_copy
