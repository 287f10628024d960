// SPDX-License-Identifier: BSL-1.0
//
// The order of the bytes to be copied: the pieces of a source in order, without its holes.
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

/// The pieces that have not been copied yet. Used by one thread.
class plan {
 public:
  /// `length`: the number of bytes to copy; nothing: until the end. `sparse`: leave out holes.
  /// `alignment`: that of the begin of each piece and of its length, except for the last piece.
  plan(const source& from, std::optional<std::uint64_t> length, bool sparse, std::size_t alignment);

  /// Sets `out` to the next piece, of at most `most` bytes. Returns false if there is none.
  bool next(std::size_t most, piece& out);
  /// Puts back the last `bytes` bytes of the last piece, which were not read: they will be in the
  /// next piece. Requires no next() in between.
  void give_back(std::size_t bytes) { position_ -= bytes; }
  /// Ends the plan at `offset`: the source has no bytes from there on.
  void end_at(std::uint64_t offset);

  /// Returns the number of bytes to copy, with holes; after end_at() the number that there was.
  std::optional<std::uint64_t> length() const { return length_; }
  /// Returns the number of bytes in holes that were left out.
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
