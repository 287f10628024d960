// SPDX-License-Identifier: BSL-1.0
// Two lists of free buffers: the runner's own, without a lock, and those that other threads
// returned.
#include "io/op/lease_pool.hpp"

#include <new>

#include <beck/io/buffer_lease.hpp>

#include "base/sanitizers.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {

void return_lease(lease_slot* slot) noexcept {
  if (slot->pool != nullptr) return slot->pool->put_back(*slot);
  slot->~lease_slot();
  ::operator delete(slot);
}
char* lease_data(const lease_slot* slot) noexcept { return slot->data; }

buffer_lease make_lease(std::size_t bytes) {
  void* const memory = ::operator new(sizeof(lease_slot) + bytes + buffer_lease::padding);
  auto* const slot = ::new (memory) lease_slot;
  slot->data = reinterpret_cast<char*>(slot + 1);
  return buffer_lease(slot, bytes);
}

lease_pool::lease_pool(io_loop& loop, std::size_t most, std::size_t bytes) noexcept
    : loop_(&loop), most_(most), bytes_(bytes), owner_(&loop.run_state()) {
  refill_.pool = this;
  refill_.run = &refill;
}

/// Doubles the number of buffers, up to the bound. Returns false if it is reached, or there is no
/// memory.
bool lease_pool::grow() noexcept {
  const std::size_t wanted = made_ != 0 ? made_ : slab_first;
  const std::size_t count = wanted < most_ - made_ ? wanted : most_ - made_;
  if (count == 0) return false;
  try {
    memory_.reserve(memory_.size() + 1);
    slots_.reserve(slots_.size() + 1);
    const std::size_t stride = bytes_ + buffer_lease::padding;
    std::unique_ptr<char[]> memory(new char[count * stride]);
    auto slots = std::make_unique<lease_slot[]>(count);
    for (std::size_t i = count; i > 0; --i) {
      slots[i - 1].pool = this;
      slots[i - 1].data = memory.get() + (i - 1) * stride;
      keep(slots[i - 1]);
    }
    memory_.push_back(std::move(memory));
    slots_.push_back(std::move(slots));
  } catch (const std::bad_alloc&) {
    return false;
  }
  made_ += count;
  return true;
}

void lease_pool::keep(lease_slot& slot) noexcept {
  annotate_lent(slot.data, bytes_);  // code that reads it now has no lease
  slot.next = free_;
  free_ = &slot;
  ++kept_;
}

lease_slot* lease_pool::take() noexcept {
  if (free_ == nullptr) take_returned();
  if (free_ == nullptr) {
    if (!waiting_.empty()) return nullptr;
    if (!grow()) {
      const std::lock_guard lock(mutex_);
      starving_ = true;
      if (returned_ == nullptr) return nullptr;
      // A buffer came back before `starving_` was set.
      lease_slot* const late = returned_;
      returned_ = late->next;
      keep(*late);
    }
  }
  lease_slot* const slot = free_;
  free_ = slot->next;
  --kept_;
  annotate_returned(slot->data, bytes_);
  return slot;
}

/// Passes the buffers that other threads returned to waiting receives, then to the pool.
void lease_pool::take_returned() noexcept {
  for (;;) {
    lease_slot* all = nullptr;
    {
      std::unique_lock lock(mutex_, std::defer_lock);
      if (!take_unless_lost(lock, forks_)) return;
      starving_ = !waiting_.empty();
      all = returned_;
      returned_ = nullptr;
    }
    if (all == nullptr) return;
    while (all != nullptr) {
      lease_slot* const slot = all;
      all = all->next;
      serve(*slot);
    }
  }
}

/// Passes a buffer to the receive that has waited longest (U9), without any timer. No other receive
/// can take it, because it is reserved.
void lease_pool::serve(lease_slot& slot) noexcept {
  if (waiting_.empty()) return keep(slot);
  auto& op = *static_cast<io_op*>(waiting_.pop());
  const descriptor_lock held(loop_->core(), *op.target);
  op.flags &= static_cast<std::uint8_t>(~io_op::flag_exhausted);
  op.address = &slot;
  loop_->engine().queue_attempt(op);
}

void lease_pool::put_back(lease_slot& slot) noexcept {
  const runner* const owner = owner_.load(std::memory_order_acquire);
  if (owner != nullptr && owner == runner::current()) return serve(slot);
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) return;
  if (owner_.load(std::memory_order_relaxed) == nullptr) {
    lock.unlock();
    return release();
  }
  slot.next = returned_;
  returned_ = &slot;
  if (!starving_ || refilling_) return;
  refilling_ = true;
  loop_->mail().push(&refill_);  // not enqueue(): on a shared loop that may need the loop's lock
}

void lease_pool::refill(queue_entry* entry, runner* where) {
  lease_pool& self = *static_cast<refill_entry*>(entry)->pool;
  {
    std::unique_lock lock(self.mutex_, std::defer_lock);
    if (!take_unless_lost(lock, self.forks_)) return;
    self.refilling_ = false;
  }
  if (where == nullptr) return;
  self.loop_->as_runner([&self](io_loop&) { self.take_returned(); });
}

void lease_pool::close() noexcept {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) return;
  if (owner_.load(std::memory_order_relaxed) == nullptr) return;
  for (lease_slot* slot = returned_; slot != nullptr; slot = slot->next) ++kept_;
  holders_ = made_ - kept_ + 1;
  // release: pairs with put_back().
  owner_.store(nullptr, std::memory_order_release);
}

void lease_pool::release() noexcept {
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!take_unless_lost(lock, forks_) || --holders_ != 0) return;
  }
  delete this;
}

}  // namespace beck::detail
