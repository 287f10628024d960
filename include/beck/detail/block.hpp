// SPDX-License-Identifier: BSL-1.0
// Recycled memory for objects that live as long as one operation: callback blocks, coroutine
// frames, roots. Each thread keeps free lists in steps of 64 bytes up to 4 KiB; a block freed by
// another thread goes back to its owner in batches. In steady state nothing reaches the general
// allocator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// Returns at least `bytes` bytes, aligned to 16. Throws std::bad_alloc; then nothing has changed.
/// Thread: any.
void* allocate_block(std::size_t bytes);

/// Frees a block. Thread: any, also another than the thread that allocated it.
void free_block(void* block) noexcept;

/// Returns the number of times that allocate_block() on the calling thread had to ask the general
/// allocator.
std::uint64_t block_misses() noexcept;

}  // namespace beck::detail
