// SPDX-License-Identifier: BSL-1.0
// The locks of a shared loop. They are taken in this order: the loop's, a descriptor's, a private
// queue's. A thread that holds the loop's lock may take the locks of several descriptors; other
// threads take one. On an exclusive loop there are none.
#pragma once

#include <cstddef>
#include <optional>

#include "io/driver/loop_core.hpp"
#include "io/shared/shared_runners.hpp"

namespace beck::detail {

/// Holds the lock of a shared loop. The thread that holds it is the runner.
class shared_lock {
 public:
  shared_lock(loop_core& core, shared_runners& shared) noexcept
      : shared_(shared), bound_((shared.lock(), core.run_state)) {}
  ~shared_lock() { shared_.unlock(); }
  shared_lock(const shared_lock&) = delete;
  shared_lock& operator=(const shared_lock&) = delete;

 private:
  shared_runners& shared_;
  runner::binding bound_;
};

/// Takes the locks that operations need, and releases them during a system call. Thread: any.
class op_locks {
 public:
  /// `shared`: null for an exclusive loop.
  op_locks(loop_core& core, shared_runners* shared) noexcept : core_(core), shared_(shared) {}
  op_locks(const op_locks&) = delete;
  op_locks& operator=(const op_locks&) = delete;

  // --- for a caller that holds the locks of `op`, on a shared loop
  /// Makes the system call of an attempt: without locks if the kind allows that. Meanwhile no other
  /// thread attempts the direction, and an event that comes is kept in `woken_late`.
  std::ptrdiff_t make_call(io_op& op) noexcept;
  /// Waits until no thread attempts an operation on `d`, on a loop of any kind. Requires the locks
  /// of the loop and of `d`, and releases them meanwhile.
  void wait_until_untried(descriptor& d) noexcept;

 private:
  friend class operation_lock;

  /// Takes the locks for an operation of this kind on `d`; that of the loop into `all`.
  void acquire(descriptor& d, op_kind kind, std::optional<shared_lock>& all) noexcept;
  void release(descriptor& d, const std::optional<shared_lock>& all) noexcept;
  /// Releases all locks that the caller holds, until relock_all().
  void unlock_all(descriptor& d) noexcept;
  void relock_all(descriptor& d) noexcept;

  loop_core& core_;
  shared_runners* const shared_;
};

/// Holds the locks that are needed to touch an operation of `d`; none on an exclusive loop.
class operation_lock {
 public:
  operation_lock(op_locks& locks, descriptor& d, op_kind kind) noexcept
      : locks_(locks.shared_ != nullptr ? &locks : nullptr), d_(d) {
    if (locks_ != nullptr) [[unlikely]]
      locks_->acquire(d_, kind, all_);
  }
  ~operation_lock() {
    if (locks_ != nullptr) [[unlikely]]
      locks_->release(d_, all_);
  }
  operation_lock(const operation_lock&) = delete;
  operation_lock& operator=(const operation_lock&) = delete;

 private:
  op_locks* locks_;
  descriptor& d_;
  std::optional<shared_lock> all_;
};

/// Returns whether operations of this kind move bytes of a stream or messages: a handler of a
/// shared loop starts them with the lock of their descriptor alone.
inline bool moves_bytes(op_kind kind) noexcept { return is_transfer(kind) || is_message(kind); }

}  // namespace beck::detail
