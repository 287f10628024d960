// SPDX-License-Identifier: BSL-1.0
// A look at the blocks of one thread, for beck/testing/memory.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::detail {

struct block_watch {
  std::uint64_t allocations = 0;  ///< asked for, whether they were given or not
  std::uint64_t fail_at = 0;      ///< this one is not given; 0: all are
  std::uint64_t refused = 0;
  std::size_t bytes_in_use = 0;
  std::size_t bytes_max = 0;
};

/// From now on the calling thread's blocks come one by one from the general allocator and are
/// counted in `watch`; nullptr: as usual again. Blocks may outlive their watch.
void watch_blocks(block_watch* watch) noexcept;

}  // namespace beck::detail
