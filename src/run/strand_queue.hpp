// SPDX-License-Identifier: BSL-1.0
// The queue of a strand: one word tells whether anybody is in charge of the strand and holds what
// came from outside, a plain list holds what is in order already. The atomic is a parameter, so
// that a checker can put its own below and try every interleaving.
#pragma once

#include <atomic>

#include <beck/detail/queue_entry.hpp>

namespace beck::detail {

/// A first-in, first-out queue of which at most one thread at a time is in charge. Whoever pushes
/// onto an idle queue is in charge of it, and hands that on by whatever makes another thread go on
/// (the inner executor), until rest() has given true.
///
/// The word: nullptr: nobody is in charge; the mark: somebody is, nothing has come; else the newest
/// entry of a stack, at whose bottom one of these two lies.
template <template <class> class Atomic = std::atomic>
class basic_strand_queue {
 public:
  /// Any thread. True: the caller is in charge now.
  bool push(queue_entry* entry) noexcept {
    queue_entry* newest = word_.load(std::memory_order_relaxed);
    do {
      entry->next = newest;
      // Release pairs with take(). Acquire pairs with rest(): what the last one in charge did
      // happens before what this one does.
    } while (!word_.compare_exchange_weak(newest, entry, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return newest == nullptr;
  }

  /// Any thread. True: nobody was in charge, and the caller is now.
  bool begin() noexcept {
    queue_entry* expected = nullptr;
    return word_.compare_exchange_strong(expected, in_charge(),
                                         std::memory_order_acquire,  // pairs with rest()
                                         std::memory_order_relaxed);
  }

  /// In charge. An entry that was pushed before, in the sense of happens-before, goes first: then
  /// the word shows it, so a relaxed load is enough.
  void push_in_charge(queue_entry* entry) noexcept {
    if (word_.load(std::memory_order_relaxed) != in_charge()) take();
    ordered_.push(entry);
  }

  /// In charge. The oldest entry, or nullptr.
  queue_entry* pop() noexcept {
    if (ordered_.empty() && !take()) return nullptr;
    return ordered_.pop();
  }

  /// In charge. True: nothing is left and nobody is in charge any more; the queue may be gone
  /// already.
  bool rest() noexcept {
    if (!ordered_.empty()) return false;
    queue_entry* expected = in_charge();
    return word_.compare_exchange_strong(expected, nullptr,
                                         std::memory_order_release,  // pairs with push()
                                         std::memory_order_relaxed);
  }

 private:
  static queue_entry* in_charge() noexcept { return &mark_; }

  /// Puts what has come behind what is in order; false if nothing had.
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
