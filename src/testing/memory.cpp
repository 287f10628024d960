// SPDX-License-Identifier: BSL-1.0
// Watches the blocks that the calling thread allocates, and reads the counters.
#include <beck/testing/memory.hpp>

#include <memory>

#include "run/block_watch.hpp"

namespace beck::testing {
using namespace detail;

struct watched_memory::state : block_watch {};

watched_memory::watched_memory() {
  auto made = std::make_unique<state>();
  watch_blocks(made.get());
  state_ = made.release();
}

watched_memory::~watched_memory() {
  watch_blocks(nullptr);
  delete state_;
}

void watched_memory::fail_after(std::uint64_t n) noexcept {
  state_->fail_at = n == 0 ? 0 : state_->allocations + n;
}

std::uint64_t watched_memory::allocations() const noexcept { return state_->allocations; }
std::uint64_t watched_memory::refused() const noexcept { return state_->refused; }
std::size_t watched_memory::bytes_in_use() const noexcept { return state_->bytes_in_use; }
std::size_t watched_memory::bytes_max() const noexcept { return state_->bytes_max; }

}  // namespace beck::testing
