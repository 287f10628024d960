// SPDX-License-Identifier: BSL-1.0
// The unit of scheduling: everything that a run queue, a mailbox or an executor carries is a
// queue_entry embedded in the object that waits (an operation, a posted function, a coroutine's
// root). Queues link entries through themselves, so scheduling never allocates.
#pragma once

namespace beck::detail {

class runner;

/// An intrusive unit of work. `run` is called exactly once for each time the entry was queued: with
/// the runner that executes it, or with nullptr when the queue is destroyed first; then the entry
/// must release what it owns without running user code. The entry may free itself inside `run`.
struct queue_entry {
  using run_function = void (*)(queue_entry* self, runner* where);

  queue_entry* next;
  run_function run;
};

/// A first-in, first-out list of entries. Not thread-safe; owns nothing.
class entry_queue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  /// Returns the entry that pop() would take, or nullptr; entries are linked by `next`.
  queue_entry* front() const noexcept { return head_; }

  /// Appends an entry.
  void push(queue_entry* entry) noexcept {
    entry->next = nullptr;
    if (head_ != nullptr) {
      tail_->next = entry;
    } else {
      head_ = entry;
    }
    tail_ = entry;
  }

  /// Takes the first entry out and returns it. Requires that the queue is not empty.
  queue_entry* pop() noexcept {
    queue_entry* entry = head_;
    head_ = entry->next;
    return entry;
  }

  /// Takes an entry out from any place; the cost grows with the number of entries before it.
  /// Requires that it is in this queue.
  void remove(queue_entry* entry) noexcept {
    queue_entry* before = nullptr;
    for (queue_entry* at = head_; at != entry; at = at->next) before = at;
    (before != nullptr ? before->next : head_) = entry->next;
    if (entry == tail_) tail_ = before;
  }

  /// Moves all entries of `other` to the end of this queue.
  void append(entry_queue& other) noexcept {
    if (other.empty()) return;
    if (head_ != nullptr) {
      tail_->next = other.head_;
    } else {
      head_ = other.head_;
    }
    tail_ = other.tail_;
    other.head_ = nullptr;
  }

 private:
  queue_entry* head_ = nullptr;
  queue_entry* tail_ = nullptr;
};

}  // namespace beck::detail
