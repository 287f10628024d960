// SPDX-License-Identifier: BSL-1.0
// Ends operations before they have finished by themselves: for a cancel, a deadline or a close. A
// result that is already known is delivered.
#pragma once

#include <cstddef>

#include "io/driver/loop_core.hpp"

namespace beck::detail {

class op_engine;

/// Thread: the runner.
class op_cancels {
 public:
  op_cancels(io_loop& loop, op_engine& engine) noexcept;
  op_cancels(const op_cancels&) = delete;
  op_cancels& operator=(const op_cancels&) = delete;

  /// Requests the cancellation of `op`, whatever its state. A result that is already known is
  /// delivered. `try_first`: an operation that is listed or in the run queue is attempted once
  /// before it ends.
  void cancel(io_op& op, bool try_first) noexcept;
  /// Requests the cancellation of all operations in flight on `d`. Results that are already known
  /// are delivered. Returns the number of operations.
  std::size_t cancel_all(descriptor& d) noexcept;
  /// Ends the operations in flight in the directions of `d` with error::timeout, because its
  /// deadline has passed.
  void expire(descriptor& d) noexcept;
  /// As cancel(), for an operation under way whose locks the caller holds.
  void cancel_one(io_op& op) noexcept;

 private:
  void cancel_directed(io_op& op, bool try_first) noexcept;
  void cancel_wait(io_op& op) noexcept;

  io_loop& loop_;
  op_engine& engine_;
};

/// Marks all waiting operations of a direction as cancelled, and returns their number. They end
/// behind the current one, in the order of their starts: see op_engine::finish().
std::size_t mark_cancelled(entry_queue& waiting, std::uint8_t how = io_op::flag_cancelled) noexcept;

}  // namespace beck::detail
