// SPDX-License-Identifier: BSL-1.0
// The heap's four movements.
#include "io/timer_queue.hpp"

#include <new>

#include <beck/base/assert.hpp>

namespace beck {

void timer_queue::place(std::size_t at, const node& n) noexcept {
  heap_[at] = n;
  n.op->heap_index = static_cast<std::uint32_t>(at);
}

void timer_queue::rise(std::size_t at, const node& n) noexcept {
  while (at > 0) {
    const std::size_t parent = (at - 1) / arity;
    if (!n.before(heap_[parent])) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, n);
}

void timer_queue::sink(std::size_t at, const node& n) noexcept {
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first = at * arity + 1;
    if (first >= size) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < first + arity && child < size; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(n)) break;
    place(at, heap_[least]);
    at = least;
  }
  place(at, n);
}

bool timer_queue::add(timer_operation& op) noexcept {
  const node n{op.deadline, sequence_++, &op};
  try {
    heap_.push_back(n);
  } catch (const std::bad_alloc&) {
    return false;
  }
  rise(heap_.size() - 1, n);
  return true;
}

void timer_queue::remove(timer_operation& op) noexcept {
  const std::size_t at = op.heap_index;
  BECK_ASSERT(at < heap_.size() && heap_[at].op == &op, "a timer's wait is not where it was put");
  const node last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  if (at > 0 && last.before(heap_[(at - 1) / arity])) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

timer_operation* timer_queue::take_expired(std::int64_t now) noexcept {
  if (heap_.empty() || heap_.front().deadline > now) return nullptr;
  return take_any();
}

timer_operation* timer_queue::take_any() noexcept {
  if (heap_.empty()) return nullptr;
  timer_operation* op = heap_.front().op;
  remove(*op);
  return op;
}

}  // namespace beck
