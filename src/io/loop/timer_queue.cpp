// SPDX-License-Identifier: BSL-1.0
// The heap of deadlines, and the timers whose deadline moves when the system clock is set.
#include "io/loop/timer_queue.hpp"

#include <algorithm>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/base/duration.hpp>

#include "io/loop/io_loop.hpp"

// The heap's movements, and the unordered tail behind it.
namespace beck::detail {
namespace {
constexpr std::uint32_t nodes_min = 64;
constexpr std::uint32_t nodes_max = std::uint32_t{1} << 30;  // so that a child's place is a number
}  // namespace

void timer_queue::place(std::uint32_t at, const node& n) noexcept {
  nodes_[at] = n;
  n.entry->place = at;
}

void timer_queue::rise(std::uint32_t at, const node& n) noexcept {
  while (at > 0) {
    const std::uint32_t parent = (at - 1) / arity;
    if (!n.before(nodes_[parent])) break;
    place(at, nodes_[parent]);
    at = parent;
  }
  place(at, n);
}

void timer_queue::sink(std::uint32_t at, const node& n) noexcept {
  while (at < nodes_max / arity) {
    const std::uint32_t first = at * arity + 1;
    if (first >= heap_size_) break;
    const std::uint32_t end = std::min(first + arity, heap_size_);
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < end; ++child) {
      if (nodes_[child].before(nodes_[least])) least = child;
    }
    if (!nodes_[least].before(n)) break;
    place(at, nodes_[least]);
    at = least;
  }
  place(at, n);
}

/// Moves the entries that were added since the last call into the heap.
void timer_queue::sort() noexcept {
  for (; heap_size_ < size_; ++heap_size_) {
    const node added = nodes_[heap_size_];
    rise(heap_size_, added);
  }
}

bool timer_queue::add_growing(timer_entry& entry) noexcept {
  if (capacity_ >= nodes_max) return false;
  const std::uint32_t wanted = std::max(nodes_min, capacity_ * 2);
  std::unique_ptr<node[]> larger(new (std::nothrow) node[wanted]);
  if (larger == nullptr) return false;
  std::copy_n(nodes_.get(), size_, larger.get());
  nodes_ = std::move(larger);
  capacity_ = wanted;
  return add(entry);
}

void timer_queue::remove_at(std::uint32_t at, const timer_entry& entry) noexcept {
  BECK_ASSERT(at < size_ && nodes_[at].entry == &entry, "a timer is not where it was put");
  const node last = nodes_[--size_];  // of the tail, if there is one
  if (size_ < heap_size_) heap_size_ = size_;
  if (at == size_) return;
  if (at >= heap_size_) {
    place(at, last);
  } else if (at > 0 && last.before(nodes_[(at - 1) / arity])) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

std::int64_t timer_queue::earliest() noexcept {
  sort();
  return empty() ? never : nodes_[0].deadline;
}

timer_entry* timer_queue::take_expired(std::int64_t now) noexcept {
  return earliest() > now ? nullptr : take_any();
}

timer_entry* timer_queue::take_any() noexcept {
  sort();
  if (empty()) return nullptr;
  timer_entry* const entry = nodes_[0].entry;
  remove(*entry);
  return entry;
}

// Checks of the date: when the earliest wait is due if the clock is not set meanwhile, and at the
// latest after one second.

bool wall_timers::add(timer_entry& entry) noexcept {
  const std::int64_t earliest = waits_.earliest();
  if (!waits_.add(entry)) return false;
  if (look_.is_armed() && earliest <= entry.deadline) return true;
  if (arm_look(loop_.sys().wall_now())) return true;
  waits_.remove(entry);
  return false;
}

void wall_timers::remove(timer_entry& entry) noexcept {
  waits_.remove(entry);
  if (waits_.empty() && look_.is_armed()) loop_.timers().remove(look_);
}

bool wall_timers::arm_look(std::int64_t date) noexcept {
  if (look_.is_armed()) loop_.timers().remove(look_);
  const std::int64_t earliest = waits_.earliest();
  std::int64_t wait = 0;
  if (earliest > date) {
    wait = std::min<std::int64_t>((duration(earliest) - duration(date)).nanoseconds(), look_ns_max);
  }
  // A deadline of `never` stays that, whatever the date.
  look_.deadline = earliest == timer_queue::never
                       ? timer_queue::never
                       : (duration(loop_.sys().now()) + duration(wait)).nanoseconds();
  look_.expired = &look;
  return loop_.timers().add(look_);
}

void wall_timers::look(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept {
  wall_timers& self = static_cast<look_entry&>(entry).owner;
  const std::int64_t date = shutting_down ? timer_queue::never : loop.sys().wall_now();
  while (timer_entry* due = self.waits_.take_expired(date)) {
    due->expired(*due, loop, shutting_down);
  }
  if (self.waits_.empty()) return;
  // The steady timers have room: this entry has just left them.
  const bool armed = self.arm_look(date);
  BECK_ASSERT(armed, "no place for the next look at the date");
}

}  // namespace beck::detail
