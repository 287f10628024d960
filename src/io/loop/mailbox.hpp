// SPDX-License-Identifier: BSL-1.0
// The queue through which other threads pass entries to a loop: one word that is a stack of
// entries, empty, or the mark "asleep". A push that finds the mark owes one write to the wake
// descriptor and touches nothing of the loop afterwards. The loop may be destroyed by then except
// for that descriptor: it is closed only after the wake-ups that are owed. The stack is changed by
// compare-and-swap and reversed when it is taken, so a preempted producer does not delay other
// threads. The mark lies at the bottom of the stack that woke the loop.
#pragma once

#include <cstdint>

#include <beck/detail/queue_entry.hpp>

#include "base/spin_lock.hpp"

namespace beck::detail {

/// The types and functions that a mailbox uses; tests substitute a model (base/spin_lock.hpp).
struct mailbox_parts : real_atomics {
  using entry = queue_entry;
  using queue = entry_queue;

  /// Returns the mark "asleep", an entry that is only compared by its address.
  static entry* asleep() noexcept { return &asleep_mark; }
  static void wake(int wake_fd) noexcept;
  static void drain(int wake_fd, std::uint64_t total) noexcept;
  /// Returns an address that identifies the calling thread; it is only compared.
  static const void* this_thread() noexcept;
  /// Ends the program if `running_thread` is neither null nor the calling thread.
  static void refuse_foreign_post(const void* running_thread) noexcept;

  static entry asleep_mark;
};

/// Thread: push() from any; everything else by the runner.
template <class Parts>
class basic_mailbox {
 public:
  using entry = typename Parts::entry;
  using queue = typename Parts::queue;

  /// Sets the wake descriptor: an eventfd, or -1 if the loop never sleeps in the kernel.
  void open(int wake_fd) noexcept { wake_fd_ = wake_fd; }

  /// Notes which thread runs the loop, as this_thread() identifies it; nullptr if none does. A loop
  /// that never sleeps in the kernel cannot be woken: while a thread runs it, a post from another
  /// thread ends the program.
  void run_by(const void* thread) noexcept {
    running_thread_.store(thread, std::memory_order_relaxed);
  }

  /// Pushes `posted`, and wakes the loop if it sleeps. Entries of one thread keep their order.
  void push(entry* posted) noexcept;

  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  /// Returns whether take() would return an entry. While a shared loop sleeps, other threads may
  /// hold its lock: they must call this before take(), which would remove the mark.
  bool has_mail() const noexcept {
    entry* const head = head_.load(std::memory_order_relaxed);
    return head != nullptr && head != Parts::asleep();
  }

  /// Appends all entries to `into`, oldest first. Returns their number.
  unsigned take(queue& into) noexcept;

  /// Declares the loop asleep. Returns false if there is mail. Pairs with push(): both exchange the
  /// same word, so no wake-up is lost.
  bool sleep() noexcept;

  /// Removes the mark that sleep() has set.
  void awake() noexcept;

  /// Waits for the wake-ups that posting threads still owe, and for `others` more, which are
  /// written to the same descriptor. Afterwards the descriptor may be closed.
  void drain_owed_wakeups(std::uint64_t others = 0) noexcept;

  /// Returns how often a posting thread has woken the loop.
  std::uint64_t wakeups() const noexcept { return owed_; }

 private:
  template <class T>
  using atomic = typename Parts::template atomic<T>;
  template <class T>
  using plain = typename Parts::template plain<T>;

  alignas(64) atomic<entry*> head_{nullptr};
  alignas(64) plain<int> wake_fd_ = -1;
  atomic<const void*> running_thread_{nullptr};  // relaxed: only compared with this_thread()
  plain<std::uint64_t> owed_ = 0;                // wake-ups: marks that take() found below a push
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
  entry* expected = nullptr;  // relaxed: it publishes nothing
  return head_.compare_exchange_strong(expected, Parts::asleep(), std::memory_order_relaxed,
                                       std::memory_order_relaxed);
}

template <class Parts>
void basic_mailbox<Parts>::awake() noexcept {
  entry* expected = Parts::asleep();
  // If this fails, a thread has pushed onto the mark: take() finds the mark at the bottom and
  // counts the wake-up as owed.
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
