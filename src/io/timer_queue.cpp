// SPDX-License-Identifier: BSL-1.0
// The heap's movements, and the unordered tail behind it.
#include "io/timer_queue.hpp"

#include <algorithm>
#include <new>

#include <beck/base/assert.hpp>

namespace beck {

void timer_queue::place(std::size_t at, const node& n) noexcept {
  nodes_[at] = n;
  n.entry->place = static_cast<std::uint32_t>(at);
}

void timer_queue::rise(std::size_t at, const node& n) noexcept {
  while (at > 0) {
    const std::size_t parent = (at - 1) / arity;
    if (!n.before(nodes_[parent])) break;
    place(at, nodes_[parent]);
    at = parent;
  }
  place(at, n);
}

void timer_queue::sink(std::size_t at, const node& n) noexcept {
  for (;;) {
    const std::size_t first = at * arity + 1;
    if (first >= heap_size_) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < first + arity && child < heap_size_; ++child) {
      if (nodes_[child].before(nodes_[least])) least = child;
    }
    if (!nodes_[least].before(n)) break;
    place(at, nodes_[least]);
    at = least;
  }
  place(at, n);
}

/// What was added since the last call takes its place in the heap.
void timer_queue::sort() noexcept {
  for (; heap_size_ < nodes_.size(); ++heap_size_) {
    const node added = nodes_[heap_size_];
    rise(heap_size_, added);
  }
}

bool timer_queue::grow() noexcept {
  if (nodes_.size() >= timer_entry::unarmed) return false;
  try {
    nodes_.reserve(std::max<std::size_t>(64, nodes_.size() * 2));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool timer_queue::add(timer_entry& entry) noexcept {
  const std::size_t at = nodes_.size();
  if (at == nodes_.capacity() && !grow()) return false;
  nodes_.push_back({entry.deadline, sequence_++, &entry});
  entry.place = static_cast<std::uint32_t>(at);
  return true;
}

void timer_queue::remove(timer_entry& entry) noexcept {
  std::size_t at = entry.place;
  BECK_ASSERT(at < nodes_.size() && nodes_[at].entry == &entry, "a timer is not where it was put");
  entry.place = timer_entry::unarmed;
  if (at < heap_size_) {
    const node last = nodes_[--heap_size_];
    if (at != heap_size_) {
      if (at > 0 && last.before(nodes_[(at - 1) / arity])) {
        rise(at, last);
      } else {
        sink(at, last);
      }
    }
    at = heap_size_;  // the hole is now between the heap and the tail
  }
  if (at + 1 != nodes_.size()) place(at, nodes_.back());
  nodes_.pop_back();
}

std::int64_t timer_queue::earliest() noexcept {
  sort();
  return nodes_.empty() ? never : nodes_.front().deadline;
}

timer_entry* timer_queue::take_expired(std::int64_t now) noexcept {
  return earliest() > now ? nullptr : take_any();
}

timer_entry* timer_queue::take_any() noexcept {
  sort();
  if (nodes_.empty()) return nullptr;
  timer_entry* const entry = nodes_.front().entry;
  remove(*entry);
  return entry;
}

}  // namespace beck
