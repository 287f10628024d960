// SPDX-License-Identifier: BSL-1.0
// Points in time that something waits for: a four-ary heap in user space, so that no timer costs a
// system call and only the earliest deadline reaches the kernel, as the time-out of the loop's
// wait. What was added since the last look is not in order yet, so that what is armed and disarmed
// within one turn costs neither a comparison nor a walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <beck/run/timer_entry.hpp>

namespace beck {

/// Thread: the runner.
class timer_queue {
 public:
  static constexpr std::int64_t never = INT64_MAX;

  bool empty() const noexcept { return nodes_.empty(); }
  std::int64_t earliest() noexcept;

  /// Requires that it is not armed. False if there is no memory; nothing has changed then.
  bool add(timer_entry& entry) noexcept;
  /// Requires that it is armed.
  void remove(timer_entry& entry) noexcept;

  /// Takes the earliest entry if its time has come at `now`. Entries with equal deadlines come in
  /// the order in which they were added.
  timer_entry* take_expired(std::int64_t now) noexcept;
  /// Takes any entry, for shutting down.
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
  static constexpr std::size_t arity = 4;

  bool grow() noexcept;
  void sort() noexcept;
  void place(std::size_t at, const node& n) noexcept;
  void rise(std::size_t at, const node& n) noexcept;
  void sink(std::size_t at, const node& n) noexcept;

  std::vector<node> nodes_;  // a heap, and behind it what was added since
  std::size_t heap_size_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace beck
