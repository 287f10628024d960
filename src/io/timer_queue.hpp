// SPDX-License-Identifier: BSL-1.0
// Waits for points in time: a four-ary heap in user space, so that no timer costs a system call and
// only the earliest deadline reaches the kernel, as the time-out of the loop's wait.
#pragma once

#include <cstdint>
#include <vector>

#include <beck/io/operation.hpp>
#include <beck/io/steady_timer.hpp>

namespace beck {

/// Thread: the runner.
class timer_queue {
 public:
  static constexpr std::int64_t never = INT64_MAX;

  bool empty() const noexcept { return heap_.empty(); }
  std::int64_t earliest() const noexcept { return heap_.empty() ? never : heap_.front().deadline; }

  /// False if there is no memory; nothing has changed then.
  bool add(timer_operation& op) noexcept;
  void remove(timer_operation& op) noexcept;

  /// Takes the earliest wait if its time has come at `now`. Waits with equal deadlines come in the
  /// order in which they were added.
  timer_operation* take_expired(std::int64_t now) noexcept;
  /// Takes any wait, for shutting down.
  timer_operation* take_any() noexcept;

 private:
  struct node {
    std::int64_t deadline;
    std::uint64_t sequence;
    timer_operation* op;

    bool before(const node& other) const noexcept {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };
  static constexpr std::size_t arity = 4;

  void place(std::size_t at, const node& n) noexcept;
  void rise(std::size_t at, const node& n) noexcept;
  void sink(std::size_t at, const node& n) noexcept;

  std::vector<node> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace beck
