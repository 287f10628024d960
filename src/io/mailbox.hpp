// SPDX-License-Identifier: BSL-1.0
// What other threads hand to a loop: one word that is either a stack of entries, empty, or
// "asleep". A push that finds "asleep" owes one write to the wake descriptor and touches nothing of
// the loop afterwards, so the loop may be gone by then but for that descriptor, whose close waits
// for what is owed.
#pragma once

#include <atomic>
#include <cstdint>

#include <beck/run/queue_entry.hpp>

namespace beck {

/// Thread: push() from any; everything else by the runner.
class mailbox {
 public:
  /// `wake_fd`: an eventfd, or -1 if the loop never sleeps in the kernel.
  void open(int wake_fd) noexcept { wake_fd_ = wake_fd; }

  /// A loop that never sleeps in the kernel cannot be woken: while a thread runs it, posts from any
  /// other one end the program. nullptr: nobody runs it.
  void run_by(const void* thread) noexcept {
    running_thread_.store(thread, std::memory_order_relaxed);
  }
  /// Tells threads apart; nothing else can be done with it.
  static const void* this_thread() noexcept;

  /// Hands `entry` over; wakes the loop if it sleeps. Entries of one thread keep their order.
  void push(queue_entry* entry) noexcept;

  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  /// Takes everything, oldest first; gives the number taken.
  unsigned take(entry_queue& into) noexcept;

  /// Declares the loop asleep; false if there is mail. Pairs with push(): the exchange of the same
  /// word makes a lost wake-up impossible.
  bool sleep() noexcept;

  /// Ends what sleep() began.
  void awake() noexcept;

  /// Waits for wake-ups that posters still owe; after it the wake descriptor may be closed.
  void settle() noexcept;

  /// How many times a poster woke the loop.
  std::uint64_t wakeups() const noexcept { return owed_; }

 private:
  static queue_entry* asleep() noexcept { return &asleep_mark_; }
  void refuse_foreign_post() const noexcept;

  static queue_entry asleep_mark_;

  alignas(64) std::atomic<queue_entry*> head_{nullptr};
  alignas(64) int wake_fd_ = -1;
  std::atomic<const void*> running_thread_{nullptr};  // relaxed: only compared with one's own
  std::uint64_t owed_ = 0;  // wake-ups whose writer has been seen in head_
};

}  // namespace beck
