// SPDX-License-Identifier: BSL-1.0
// What other threads hand to a loop: one word that is either a stack of entries, empty, or
// "asleep". A push that finds "asleep" owes one write to the wake descriptor and touches nothing of
// the loop afterwards, so the loop may be gone by then but for that descriptor, whose close waits
// for what is owed. A compare-and-swap stack, reversed when it is taken: a preempted producer
// stalls nobody. The asleep mark lies at the bottom of the stack that woke the loop.
#pragma once

#include <cstdint>

#include <beck/detail/queue_entry.hpp>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// What a mailbox is made of (base/spin_lock.hpp).
struct mailbox_parts : real_atomics {
  using entry = queue_entry;
  using queue = entry_queue;

  /// The mark; never looked into.
  static entry* asleep() noexcept { return &asleep_mark; }
  static void wake(int wake_fd) noexcept;
  static void drain(int wake_fd, std::uint64_t total) noexcept;
  /// Tells threads apart; nothing else can be done with it.
  static const void* this_thread() noexcept;
  static void refuse_foreign_post(const void* running_thread) noexcept;

  static entry asleep_mark;
};

/// Thread: push() from any; everything else by the runner.
template <class Parts>
class basic_mailbox {
 public:
  using entry = typename Parts::entry;
  using queue = typename Parts::queue;

  /// `wake_fd`: an eventfd, or -1 if the loop never sleeps in the kernel.
  void open(int wake_fd) noexcept { wake_fd_ = wake_fd; }

  /// A loop that never sleeps in the kernel cannot be woken: while a thread runs it, posts from any
  /// other one end the program. nullptr: nobody runs it.
  void run_by(const void* thread) noexcept {
    running_thread_.store(thread, std::memory_order_relaxed);
  }

  /// Hands `posted` over; wakes the loop if it sleeps. Entries of one thread keep their order.
  void push(entry* posted) noexcept;

  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  /// Whether take() would give something. While the loop sleeps, others may hold its lock (a shared
  /// one): they must leave the mark where it is.
  bool has_mail() const noexcept {
    entry* const head = head_.load(std::memory_order_relaxed);
    return head != nullptr && head != Parts::asleep();
  }

  /// Takes everything, oldest first; gives the number taken.
  unsigned take(queue& into) noexcept;

  /// Declares the loop asleep; false if there is mail. Pairs with push(): the exchange of the same
  /// word makes a lost wake-up impossible.
  bool sleep() noexcept;

  /// Ends what sleep() began.
  void awake() noexcept;

  /// Waits for wake-ups that posters still owe, and for those of `others` who write to the same
  /// descriptor; after it that may be closed.
  void drain_owed_wakeups(std::uint64_t others = 0) noexcept;

  /// How many times a poster woke the loop.
  std::uint64_t wakeups() const noexcept { return owed_; }

 private:
  template <class T>
  using atomic = typename Parts::template atomic<T>;
  template <class T>
  using plain = typename Parts::template plain<T>;

  alignas(64) atomic<entry*> head_{nullptr};
  alignas(64) plain<int> wake_fd_ = -1;
  atomic<const void*> running_thread_{nullptr};  // relaxed: only compared with one's own
  plain<std::uint64_t> owed_ = 0;                // wake-ups whose writer has been seen in head_
};

template <class Parts>
void basic_mailbox<Parts>::push(entry* posted) noexcept {
  const int wake_fd = wake_fd_;  // read before the push: the loop may be gone right after it
  if (wake_fd < 0) [[unlikely]]
    Parts::refuse_foreign_post(running_thread_.load(std::memory_order_relaxed));
  entry* head = head_.load(std::memory_order_relaxed);
  do {
    posted->next = head;
  } while (!head_.compare_exchange_weak(head, posted,
                                        std::memory_order_release,  // pairs with take()
                                        std::memory_order_relaxed));
  if (head == Parts::asleep()) Parts::wake(wake_fd);
}

template <class Parts>
unsigned basic_mailbox<Parts>::take(queue& into) noexcept {
  entry* newest = head_.exchange(nullptr, std::memory_order_acquire);
  entry* oldest = nullptr;
  unsigned count = 0;
  while (newest != nullptr) {
    if (newest == Parts::asleep()) {
      ++owed_;
      break;
    }
    entry* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
    ++count;
  }
  while (oldest != nullptr) {
    entry* next = oldest->next;
    into.push(oldest);
    oldest = next;
  }
  return count;
}

template <class Parts>
bool basic_mailbox<Parts>::sleep() noexcept {
  entry* expected = nullptr;  // relaxed: it hands nothing over
  return head_.compare_exchange_strong(expected, Parts::asleep(), std::memory_order_relaxed,
                                       std::memory_order_relaxed);
}

template <class Parts>
void basic_mailbox<Parts>::awake() noexcept {
  entry* expected = Parts::asleep();
  // If it fails, somebody pushed onto the mark: take() finds it at the bottom and counts what is
  // owed.
  head_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed,
                                std::memory_order_relaxed);
}

template <class Parts>
void basic_mailbox<Parts>::drain_owed_wakeups(std::uint64_t others) noexcept {
  if (owed_ + others != 0) Parts::drain(wake_fd_, owed_ + others);
  owed_ = 0;
}

extern template class basic_mailbox<mailbox_parts>;
using mailbox = basic_mailbox<mailbox_parts>;

}  // namespace beck::detail
