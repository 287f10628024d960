// SPDX-License-Identifier: BSL-1.0
// The queue of a strand. One atomic word tells whether a thread owns the queue, and holds the
// entries pushed by other threads, newest first; a plain list holds the entries that are in order
// already. The atomic is a template parameter, so that a checker can substitute its own and try
// every interleaving.
#pragma once

#include <atomic>

#include <beck/detail/queue_entry.hpp>

namespace beck::detail {

/// A first-in, first-out queue with at most one owner at a time. A thread that pushes onto an idle
/// queue becomes its owner. The ownership may pass to another thread if the way there synchronises
/// both (a post to the inner executor does). It ends when rest() returns true.
///
/// Values of the word: nullptr: the queue has no owner. The mark: it has an owner, and no entry has
/// been pushed since the owner's last take(). Else the newest entry of a stack, at whose bottom one
/// of these two values lies.
template <template <class> class Atomic = std::atomic>
class basic_strand_queue {
 public:
  /// Pushes `entry`. Returns true if the caller is the owner now. Thread: any.
  bool push(queue_entry* entry) noexcept {
    queue_entry* newest = word_.load(std::memory_order_relaxed);
    do {
      entry->next = newest;
      // Release pairs with take(). Acquire pairs with rest(): the actions of the last owner happen
      // before those of this one.
    } while (!word_.compare_exchange_weak(newest, entry, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return newest == nullptr;
  }

  /// Returns true if the queue was idle, and the caller is its owner now. Thread: any.
  bool begin() noexcept {
    queue_entry* expected = nullptr;
    return word_.compare_exchange_strong(expected, in_charge(),
                                         std::memory_order_acquire,  // pairs with rest()
                                         std::memory_order_relaxed);
  }

  /// Pushes `entry` onto the list. Thread: the owner. Entries that other threads pushed before, in
  /// the sense of happens-before, stay before it: the word shows them, so a relaxed load is enough.
  void push_in_charge(queue_entry* entry) noexcept {
    if (word_.load(std::memory_order_relaxed) != in_charge()) take();
    ordered_.push(entry);
  }

  /// Removes the oldest entry and returns it; nullptr if there is none. Thread: the owner.
  queue_entry* pop() noexcept {
    if (ordered_.empty() && !take()) return nullptr;
    return ordered_.pop();
  }

  /// Releases the ownership if the queue is empty, and returns true; the queue may be destroyed by
  /// then. Returns false if there are entries left. Thread: the owner.
  bool rest() noexcept {
    if (!ordered_.empty()) return false;
    queue_entry* expected = in_charge();
    return word_.compare_exchange_strong(expected, nullptr,
                                         std::memory_order_release,  // pairs with push()
                                         std::memory_order_relaxed);
  }

 private:
  static queue_entry* in_charge() noexcept { return &mark_; }

  /// Moves the pushed entries, oldest first, to the end of the list; returns false if there were
  /// none.
  bool take() noexcept {
    if (word_.load(std::memory_order_relaxed) == in_charge()) return false;
    queue_entry* newest = word_.exchange(in_charge(),
                                         std::memory_order_acquire);  // pairs with push()
    queue_entry* oldest = nullptr;
    while (newest != nullptr && newest != in_charge()) {
      queue_entry* next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      queue_entry* next = oldest->next;
      ordered_.push(oldest);
      oldest = next;
    }
    return true;
  }

  inline static queue_entry mark_{};

  Atomic<queue_entry*> word_{nullptr};
  entry_queue ordered_;
};

using strand_queue = basic_strand_queue<>;

}  // namespace beck::detail
