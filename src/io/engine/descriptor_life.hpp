// SPDX-License-Identifier: BSL-1.0
// Opens, closes and releases descriptors. A close waits for the operations that the kernel still
// holds.
#pragma once

#include "io/driver/loop_core.hpp"

namespace beck::detail {

class op_engine;

/// Owns the descriptor of vacant objects. Thread: the runner, but for open() and vacant().
class descriptor_life {
 public:
  descriptor_life(io_loop& loop, op_engine& engine) noexcept;
  descriptor_life(const descriptor_life&) = delete;
  descriptor_life& operator=(const descriptor_life&) = delete;

  /// Opens `d` with the descriptor number `fd`, which is open and non-blocking.
  void open(descriptor& d, int fd, descriptor_nature nature = descriptor_nature::socket) noexcept;
  /// As open(), for a caller that holds the lock of `d`.
  void open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept;
  /// Ends all operations on `d` and closes it: at once, or when the kernel has returned the
  /// operations that it holds.
  void close(descriptor& d) noexcept;
  /// As close(), and frees the slot afterwards: its object is gone, or has taken another slot.
  void close_for_good(descriptor& d) noexcept;
  /// Closes `d` if it is closing and the kernel holds nothing of it.
  void close_if_idle(descriptor& d) noexcept;
  /// Ends all operations on `d` and returns its descriptor number, which stays open. Returns -EBADF
  /// if `d` is not open, and -EBUSY if the kernel still works for an operation on it.
  int release(descriptor& d) noexcept;

  // --- the end of the loop
  /// Cancels the operations on all descriptors, as a close does, and lets none start. The numbers
  /// that are open stay so until the operations have come back.
  void detach_all() noexcept;
  /// Ends all operations that the kernel holds, in a child of fork.
  void give_up_all() noexcept;

  /// Returns the descriptor of vacant objects, such as moved-from ones, and of operations without a
  /// descriptor. It is never open.
  descriptor& vacant() noexcept { return vacant_; }

 private:
  void close_now(descriptor& d) noexcept;
  /// Ends the operations on `d` that the kernel does not hold, and requests the cancellation of
  /// calls on files. The driver ends the others when it detaches `d`.
  void abandon_all(descriptor& d) noexcept;
  void abandon(direction& q) noexcept;
  /// Ends the operations on `d` that the kernel held, in a child of fork. The caller closes `d`
  /// later if it was closing.
  void give_up(descriptor& d) noexcept;

  op_engine& engine_;
  loop_core& core_;
  descriptor vacant_;
};

}  // namespace beck::detail
