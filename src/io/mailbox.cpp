// SPDX-License-Identifier: BSL-1.0
// A compare-and-swap stack, reversed when it is taken: a preempted producer stalls nobody. The
// asleep mark lies at the bottom of the stack that woke the loop.
#include "io/mailbox.hpp"

#include <beck/base/assert.hpp>

#include "io/wake.hpp"

namespace beck {

queue_entry mailbox::asleep_mark_{};

const void* mailbox::this_thread() noexcept {
  thread_local const char mark = 0;
  return &mark;
}

void mailbox::refuse_foreign_post() const noexcept {
  const void* const thread = running_thread_.load(std::memory_order_relaxed);
  BECK_ASSERT(thread == nullptr || thread == this_thread(),
              "a simulated context was posted to from another thread while it runs");
}

void mailbox::push(queue_entry* entry) noexcept {
  const int wake_fd = wake_fd_;  // read before the push: the loop may be gone right after it
  if (wake_fd < 0) [[unlikely]]
    refuse_foreign_post();
  queue_entry* head = head_.load(std::memory_order_relaxed);
  do {
    entry->next = head;
  } while (!head_.compare_exchange_weak(head, entry,
                                        std::memory_order_release,  // pairs with take()
                                        std::memory_order_relaxed));
  if (head == asleep()) wake_write(wake_fd);
}

unsigned mailbox::take(entry_queue& into) noexcept {
  queue_entry* newest = head_.exchange(nullptr, std::memory_order_acquire);
  queue_entry* oldest = nullptr;
  unsigned count = 0;
  while (newest != nullptr) {
    if (newest == asleep()) {
      ++owed_;
      break;
    }
    queue_entry* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
    ++count;
  }
  while (oldest != nullptr) {
    queue_entry* next = oldest->next;
    into.push(oldest);
    oldest = next;
  }
  return count;
}

bool mailbox::sleep() noexcept {
  queue_entry* expected = nullptr;
  return head_.compare_exchange_strong(expected, asleep(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed);
}

void mailbox::awake() noexcept {
  queue_entry* expected = asleep();
  // If it fails, somebody pushed onto the mark: take() finds it at the bottom and counts what is
  // owed.
  head_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
}

void mailbox::settle() noexcept {
  if (owed_ != 0) wake_drain(wake_fd_, owed_);
  owed_ = 0;
}

}  // namespace beck
