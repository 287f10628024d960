// SPDX-License-Identifier: BSL-1.0
//
// The engines, which move the bytes: a table of functions over a source, a target and a plan.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "plan.hpp"
#include "progress.hpp"
#include "source.hpp"
#include "target.hpp"

namespace beck_copy {

/// One run of an engine.
struct transfer {
  const source& from;
  const target& to;
  plan& pieces;
  progress& done;
  std::size_t block;      // bytes of a block; a multiple of the alignment
  std::size_t depth;      // blocks in flight
  std::size_t alignment;  // of direct transfers; 1 without

  /// Returns whether bytes are read and written in order, one block at a time: source or target has
  /// no offsets, or only reading finds the end of the source.
  bool is_stream() const {
    return !from.is_seekable() || !to.is_seekable() || !pieces.length().has_value();
  }
  /// Returns the size of the direct transfer that is needed for `bytes` bytes.
  std::size_t padded(std::size_t bytes) const {
    return (bytes + alignment - 1) / alignment * alignment;
  }
};

/// The block size of direct transfers, each of which is a request to the disk.
inline constexpr std::size_t block_direct = std::size_t{1} << 20;

/// A mechanism. run() copies all pieces, or throws failure or refusal.
struct engine {
  std::string_view name;
  void (*run)(transfer& work);
  std::size_t block_default;
  bool has_buffers;           // direct transfers need them
  std::size_t depth_default;  // 1: one block at a time, whatever the settings are
};

/// Returns all engines, in the order of --help.
std::span<const engine> engines();
/// Returns the engine `name`. Requires that there is one.
const engine& find_engine(std::string_view name);

void copy_sync(transfer& work);
void copy_posix_aio(transfer& work);
void copy_uring(transfer& work);
void copy_uring_splice(transfer& work);
void copy_sendfile(transfer& work);
void copy_copy_range(transfer& work);

}  // namespace beck_copy
