// SPDX-License-Identifier: BSL-1.0
// Timers in user space: a heap of deadlines on the steady clock, the waits of one timer object, and
// the timers of the system clock, which is checked once a second because it may be set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <beck/detail/block.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/loop_command.hpp>
#include <beck/detail/timer_entry.hpp>
#include <beck/io/timer_object.hpp>

#include "base/use_check.hpp"

// The state of a timer that the loop knows.
namespace beck::detail {

class io_loop;
class timer_operation;

/// The part of a timer that the runner uses: the waits that are in flight.
struct timer_state {
  timer_state(io_loop& where, const any_io_executor& how, clock_kind which) noexcept
      : executor(how), clock(which) {
    // A separate store: combined with its neighbour, it would delay the loads that come next.
    __atomic_store_n(&loop, &where, __ATOMIC_RELAXED);
  }

  /// Allocates a recycled block.
  static void* operator new(std::size_t bytes) { return allocate_block(bytes); }
  /// Frees the block.
  static void operator delete(void* state) noexcept { free_block(state); }

  io_loop* loop;
  any_io_executor executor;
  clock_kind clock;
  timer_operation* first = nullptr;  ///< oldest
  timer_operation* last = nullptr;
  deferred_init<loop_command> release_order;  ///< tells the runner that the object is destroyed
  use_mark used{};
};

// Deadlines: a four-ary heap in user space, so that no timer costs a system call and only the
// earliest deadline reaches the kernel, as the time-out of the loop's wait. Entries that were added
// since the heap was last read are not sorted yet, so a timer that is armed and disarmed within one
// iteration costs no comparison and no walk through the heap.

/// Thread: the runner.
class timer_queue {
 public:
  static constexpr std::int64_t never = INT64_MAX;

  bool empty() const noexcept { return size_ == 0; }
  /// Returns the earliest deadline; `never` if the queue is empty.
  std::int64_t earliest() noexcept;
  /// Returns whether the next add() must allocate memory.
  bool is_full() const noexcept { return size_ == capacity_; }

  /// Adds `entry`. Requires that it is not armed. Returns false, and changes nothing, if there is
  /// no memory.
  bool add(timer_entry& entry) noexcept {
    if (size_ == capacity_) [[unlikely]]
      return add_growing(entry);
    nodes_[size_] = {entry.deadline, sequence_++, &entry};
    entry.place = size_++;
    return true;
  }
  /// Removes `entry`. Requires that it is armed.
  void remove(timer_entry& entry) noexcept {
    const std::uint32_t at = std::exchange(entry.place, timer_entry::unarmed);
    if (at >= heap_size_ && std::uint64_t{at} + 1 == size_) {
      size_ = at;  // the entry that was added last
    } else {
      remove_at(at, entry);
    }
  }

  /// Takes the earliest entry if its deadline is not after `now`; nullptr otherwise. Entries with
  /// equal deadlines are taken in the order in which they were added.
  timer_entry* take_expired(std::int64_t now) noexcept;
  /// Takes any entry, for shutting down; nullptr if the queue is empty.
  timer_entry* take_any() noexcept;

 private:
  struct node {
    std::int64_t deadline;
    std::uint64_t sequence;
    timer_entry* entry;

    bool before(const node& other) const noexcept {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };
  static constexpr std::uint32_t arity = 4;

  [[gnu::noinline]] bool add_growing(timer_entry& entry) noexcept;
  void remove_at(std::uint32_t at, const timer_entry& entry) noexcept;
  void sort() noexcept;
  void place(std::uint32_t at, const node& n) noexcept;
  void rise(std::uint32_t at, const node& n) noexcept;
  void sink(std::uint32_t at, const node& n) noexcept;

  std::unique_ptr<node[]> nodes_;  // the heap, then the entries that are not sorted yet
  std::uint32_t heap_size_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint64_t sequence_ = 0;
};

// Waits for a date. The system clock may be set at any time and no process is told, so the date is
// checked again after at most a second; a single entry of the loop's steady timers does that for
// all waits.

class io_loop;

/// Timers of the system clock: deadlines are nanoseconds since 1970. Thread: the runner of `loop`.
class wall_timers {
 public:
  /// The longest time for which a change of the date may go unnoticed.
  static constexpr std::int64_t look_ns_max = 1'000'000'000;

  explicit wall_timers(io_loop& loop) noexcept : loop_(loop), look_(*this) {}

  /// Adds `entry`. Requires that it is not armed. Returns false, and changes nothing, if there is
  /// no memory.
  bool add(timer_entry& entry) noexcept;
  /// Removes `entry`. Requires that it is armed.
  [[gnu::noinline]] void remove(timer_entry& entry) noexcept;

 private:
  struct look_entry : timer_entry {
    explicit look_entry(wall_timers& whose) noexcept : owner(whose) {}
    wall_timers& owner;
  };

  /// Expires the waits that are due, and arms the next check of the date.
  static void look(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;
  /// Arms the next check of the date; `date` is the present one. Returns false if there is no
  /// memory.
  bool arm_look(std::int64_t date) noexcept;

  io_loop& loop_;
  timer_queue waits_;
  look_entry look_;
};

}  // namespace beck::detail
