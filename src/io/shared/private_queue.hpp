// SPDX-License-Identifier: BSL-1.0
// The entries that one thread of a shared context has taken or queued: first in, first out. It has
// a lock of its own, which is nearly always free; the others take entries out of it when they have
// none, so that what lies behind a handler that blocks is not stranded.
#pragma once

#include <beck/detail/queue_entry.hpp>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// What a private queue is made of (base/spin_lock.hpp).
struct private_queue_parts : real_atomics {
  using entry = queue_entry;
  using queue = entry_queue;
};

/// Thread: the owner, but for count() and steal().
template <class Parts>
class basic_private_queue {
 public:
  using entry = typename Parts::entry;
  using queue = typename Parts::queue;

  /// By the owner: no fewer than there are, and 0 is exact. By others: says whether a look is worth
  /// it; an entry that was pushed before, in the sense of happens-before, is counted.
  unsigned count() const noexcept { return count_.load(std::memory_order_relaxed); }

  void push(entry* pushed) noexcept {
    lock_.lock();
    entries_.push(pushed);
    set_count(count() + 1);
    lock_.unlock();
  }

  /// The oldest one; nullptr if there is none.
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

  /// Behind what is here: at most `most` from the head of `more`. Gives how many.
  unsigned append(queue& more, unsigned most) noexcept {
    lock_.lock();
    const unsigned moved = move(more, entries_, most);
    set_count(count() + moved);
    lock_.unlock();
    return moved;
  }

  /// Behind what is here: all of another queue of the same owner.
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

  /// Any other thread: the older half goes behind what is in `into`. Gives how many.
  unsigned steal(queue& into) noexcept {
    lock_.lock();
    const unsigned all = count();
    const unsigned moved = move(entries_, into, (all + 1) / 2);
    set_count(all - moved);
    lock_.unlock();
    return moved;
  }

  /// All of it goes in front of what is in `shared`.
  void give_back(queue& shared) noexcept {
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
  /// Under the lock, which orders it.
  void set_count(unsigned n) noexcept { count_.store(n, std::memory_order_relaxed); }

  basic_spin_lock<Parts> lock_;
  typename Parts::template atomic<unsigned> count_{0};
  queue entries_;
};

using private_queue = basic_private_queue<private_queue_parts>;

}  // namespace beck::detail
