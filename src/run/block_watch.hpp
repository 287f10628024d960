// SPDX-License-Identifier: BSL-1.0
// Counts the blocks of one thread and refuses a chosen one, for beck/testing/memory.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::detail {

struct block_watch {
  std::uint64_t allocations = 0;  ///< blocks requested, whether they were allocated or refused
  std::uint64_t fail_at = 0;      ///< the number of the request to refuse; 0: none
  std::uint64_t refused = 0;
  std::size_t bytes_in_use = 0;
  std::size_t bytes_max = 0;
};

/// Returns whether the calling thread recycles its blocks: not while they are counted, and not
/// under AddressSanitizer, which has to see each allocation and each free.
bool recycles_blocks() noexcept;

/// Starts to count the calling thread's blocks in `watch`: from then on each comes from the general
/// allocator. nullptr returns the thread to its cache, and throws nothing. Blocks may outlive their
/// watch. Throws std::bad_alloc.
void watch_blocks(block_watch* watch);

}  // namespace beck::detail
