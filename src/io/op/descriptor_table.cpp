// SPDX-License-Identifier: BSL-1.0
// Any thread allocates slots, also while another thread runs the loop. In a child of fork,
// allocation fails if another thread held the mutex at the fork.
#include "io/op/descriptor_table.hpp"

#include <utility>

#include <beck/base/error.hpp>

namespace beck::detail {

descriptor_table::~descriptor_table() {
  for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

void descriptor_table::leak() noexcept {
  for (auto& chunk : chunks_) chunk.store(nullptr, std::memory_order_relaxed);
}

descriptor* descriptor_table::allocate(const any_io_executor& executor) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) {
    throw_error(error::no_descriptors, "io_context: descriptor table, in a child of fork");
  }
  if (free_ == nullptr) grow();
  descriptor* const d = std::exchange(free_, free_->next);
  d->next = nullptr;
  d->executor = executor;
  d->orphaned = false;
  d->may_be_opening = false;
  d->user_non_blocking = false;
  return d;
}

void descriptor_table::grow() {
  std::uint32_t chunk = 0;
  while (chunk < descriptor_chunks::most &&
         chunks_[chunk].load(std::memory_order_relaxed) != nullptr)
    ++chunk;
  if (chunk == descriptor_chunks::most)
    throw_error(error::no_descriptors, "io_context: descriptor table");
  const std::uint32_t size = descriptor_chunks::size(chunk);
  auto* const made = new descriptor[size];
  for (std::uint32_t i = size; i > 0; --i) {
    descriptor& d = made[i - 1];
    d.index = descriptor_chunks::begin(chunk) + i - 1;
    d.loop = &owner_;
    d.expiry.owner = &d;
    d.next = free_;
    free_ = &d;
  }
  chunks_[chunk].store(made, std::memory_order_release);  // pairs with at()
}

void descriptor_table::free(descriptor& d) noexcept {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) return;
  d.executor = any_io_executor();
  ++d.generation;
  d.next = free_;
  free_ = &d;
}

std::int64_t descriptor_table::in_use() noexcept {
  std::int64_t slots = 0;
  each([&slots](descriptor&) { ++slots; });
  for (const descriptor* d = free_; d != nullptr; d = d->next) --slots;
  return slots;
}

}  // namespace beck::detail
