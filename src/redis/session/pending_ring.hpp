// SPDX-License-Identifier: BSL-1.0
// The commands that were put into writes and have no reply yet, in the order of the replies. Each
// entry has a ticket, one more than that of the entry before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {

class exchange;

/// Consecutive commands of one exchange.
struct pending_entry {
  exchange* of;            // nullptr: it was cancelled, or is a guard; replies are dropped
  std::uint32_t first;     // the number of its first command in the exchange
  std::uint32_t commands;  // how many it had at first
  std::uint32_t left;      // of them without reply
  bool is_silent;          // the server does not answer: it ends when it is first and was written
  bool is_behind_silence;  // behind such an entry
  bool is_guard;           // the reply must be the next guard_text()
  std::uint64_t begin;     // the place of its first byte in the stream
  std::uint64_t end;       // the place behind its last byte
};

/// A queue of entries in a ring that grows. Thread: one at a time.
class pending_ring {
 public:
  bool empty() const noexcept { return first_ == behind_; }
  std::uint64_t first_ticket() const noexcept { return first_; }
  std::uint64_t next_ticket() const noexcept { return behind_; }
  pending_entry& front() noexcept { return at(first_); }
  pending_entry& at(std::uint64_t ticket) noexcept { return ring_[ticket & (capacity_ - 1)]; }

  /// Makes room for one more entry. Throws std::bad_alloc; then nothing has changed.
  void reserve() {
    if (behind_ - first_ == capacity_) grow();
  }
  /// Requires room, see reserve().
  void push(const pending_entry& added) noexcept {
    BECK_ASSERT(behind_ - first_ < capacity_, "an entry without room");
    ring_[behind_++ & (capacity_ - 1)] = added;
  }
  void pop() noexcept {
    BECK_ASSERT(!empty(), "an entry was taken out of an empty queue");
    ++first_;
  }
  void clear() noexcept { first_ = behind_; }
  /// Frees the memory. Requires that it is empty.
  void release() noexcept {
    BECK_ASSERT(empty(), "the memory of entries was freed while there were some");
    ring_.reset();
    capacity_ = 0;
  }

 private:
  [[gnu::noinline]] void grow() {
    const std::size_t more = capacity_ == 0 ? 64 : 2 * capacity_;
    auto ring = std::make_unique<pending_entry[]>(more);
    for (std::uint64_t t = first_; t != behind_; ++t) ring[t & (more - 1)] = at(t);
    ring_ = std::move(ring);
    capacity_ = more;
  }

  std::unique_ptr<pending_entry[]> ring_;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::uint64_t first_ = 0;
  std::uint64_t behind_ = 0;
};

}  // namespace beck::redis::detail
