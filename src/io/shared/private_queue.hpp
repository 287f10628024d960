// SPDX-License-Identifier: BSL-1.0
// The queue of the entries that one thread of a shared context has taken or queued: first in, first
// out. It has a lock of its own, which is nearly always free. Other threads steal from it when they
// have no entries, so that entries behind a blocking handler are not stranded.
#pragma once

#include <beck/detail/queue_entry.hpp>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// The parts of a private queue (base/spin_lock.hpp).
struct private_queue_parts : real_atomics {
  using entry = queue_entry;
  using queue = entry_queue;
};

/// Thread: the owner; count() and steal() any.
template <class Parts>
class basic_private_queue {
 public:
  using entry = typename Parts::entry;
  using queue = typename Parts::queue;

  /// Returns the number of entries. For the owner it is at least the true number, and 0 is exact.
  /// For other threads it says whether stealing is worthwhile; it counts each entry whose push
  /// happens before the call.
  unsigned count() const noexcept { return count_.load(std::memory_order_relaxed); }

  void push(entry* pushed) noexcept {
    lock_.lock();
    entries_.push(pushed);
    set_count(count() + 1);
    lock_.unlock();
  }

  /// Removes the oldest entry and returns it; nullptr if there is none.
  entry* pop() noexcept {
    if (count() == 0) return nullptr;
    lock_.lock();
    entry* oldest = nullptr;
    if (!entries_.empty()) {
      oldest = entries_.pop();
      set_count(count() - 1);
    }
    lock_.unlock();
    return oldest;
  }

  /// Appends at most `most` entries from the head of `more`. Returns their number.
  unsigned append(queue& more, unsigned most) noexcept {
    lock_.lock();
    const unsigned moved = move(more, entries_, most);
    set_count(count() + moved);
    lock_.unlock();
    return moved;
  }

  /// Appends all entries of another queue of the same owner.
  void append(basic_private_queue& other) noexcept {
    if (other.count() == 0) return;
    queue taken;
    other.lock_.lock();
    const unsigned moved = other.count();
    taken.append(other.entries_);
    other.set_count(0);
    other.lock_.unlock();
    lock_.lock();
    entries_.append(taken);
    set_count(count() + moved);
    lock_.unlock();
  }

  /// Appends the older half of the entries to `into`. Returns their number. Thread: any but the
  /// owner.
  unsigned steal(queue& into) noexcept {
    lock_.lock();
    const unsigned all = count();
    const unsigned moved = move(entries_, into, (all + 1) / 2);
    set_count(all - moved);
    lock_.unlock();
    return moved;
  }

  /// Moves all entries to the front of `shared`.
  void return_to(queue& shared) noexcept {
    lock_.lock();
    entries_.append(shared);
    shared.append(entries_);
    set_count(0);
    lock_.unlock();
  }

 private:
  static unsigned move(queue& from, queue& to, unsigned most) noexcept {
    unsigned moved = 0;
    for (; moved < most && !from.empty(); ++moved) to.push(from.pop());
    return moved;
  }
  /// Sets the number of entries. Requires the lock, which orders the store.
  void set_count(unsigned n) noexcept { count_.store(n, std::memory_order_relaxed); }

  basic_spin_lock<Parts> lock_;
  typename Parts::template atomic<unsigned> count_{0};
  queue entries_;
};

using private_queue = basic_private_queue<private_queue_parts>;

}  // namespace beck::detail
