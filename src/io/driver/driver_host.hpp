// SPDX-License-Identifier: BSL-1.0
// The interface of a loop to its driver: the driver reports the outcome of operations, finds their
// descriptors, and uses the few parts of the loop that a poll needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>

#include "base/fork_count.hpp"
#include "io/op/descriptor_table.hpp"
#include "io/op/readiness.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

class file_operation;
struct mailbox_parts;
template <class Parts>
class basic_mailbox;
using mailbox = basic_mailbox<mailbox_parts>;

/// Thread: the runner. No function runs user code, except for a custom executor's post().
class driver_host {
 public:
  driver_host(const driver_host&) = delete;
  driver_host& operator=(const driver_host&) = delete;

  // --- the outcome of operations
  /// Queues the completion of `op` with this result, and starts the next operation of its
  /// direction.
  virtual void finish(io_op& op, int result) noexcept = 0;
  /// Queues an attempt of `op`.
  virtual void queue_attempt(io_op& op) noexcept = 0;
  /// Queues an attempt of a read that was listed, although no event says that it will find data.
  virtual void queue_late_attempt(io_op& op) noexcept = 0;
  /// Lists a read of a shared loop for a late attempt, or queues one. Returns false if only an
  /// event can help the read.
  virtual bool list_late_attempt(io_op& op) noexcept = 0;
  /// Continues a call on a file with the result of its last step, or finishes it.
  virtual void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept = 0;
  /// Makes the call of `op` on a thread: loop_jobs::run().
  virtual void run_blocking(io_op& op) noexcept = 0;
  /// Cancels the call of `op` on a thread: loop_jobs::cancel().
  virtual void cancel_blocking(io_op& op) noexcept = 0;
  /// Closes `d` if it is closing and the kernel holds nothing of it. Called when the kernel has
  /// returned an operation or the poll of `d`.
  virtual void close_if_idle(descriptor& d) noexcept = 0;

  // --- around a poll of the kernel
  virtual mailbox& mail() noexcept = 0;
  /// Unlocks a shared loop for the duration of a system call, in which the driver does not touch
  /// the loop.
  virtual void pause_lock() noexcept = 0;
  /// Locks it again.
  virtual void resume_lock() noexcept = 0;
  /// Returns whether entries wait in the run queue.
  bool has_queued() const noexcept { return !queue_.empty(); }

  // --- parts of the loop
  descriptor& descriptor_at(std::uint32_t index) noexcept { return descriptors_.at(index); }
  system& sys() noexcept { return *system_; }
  context_stats& counters() noexcept { return counters_; }
  const readiness_rules& rules() const noexcept { return rules_; }
  void batch_sends(bool on) noexcept { batches_sends_ = on; }
  bool batches_sends() const noexcept { return batches_sends_; }
  /// Returns whether `op` waits for the next poll instead of being attempted. Not in a child of
  /// fork: nothing polls there.
  bool batches(const io_op& op, const direction& q) const noexcept {
    return batches_sends_ && may_be_batched(op, q) && !is_forked_copy();
  }
  bool is_shared() const noexcept { return is_shared_; }
  /// Returns whether this process is a child of fork of the process that made the loop.
  bool is_forked_copy() const noexcept { return forks_ != known_fork_count(); }

 protected:
  driver_host(io_loop& loop, bool shared, bool learns) noexcept
      : is_shared_(shared), rules_{learns, true}, descriptors_(loop) {}
  ~driver_host() = default;

  entry_queue queue_;
  const bool is_shared_;
  bool batches_sends_ = false;
  readiness_rules rules_;
  const unsigned forks_ = fork_count();
  std::unique_ptr<system> system_;
  context_stats counters_;
  descriptor_table descriptors_;
};

/// Holds the lock of a descriptor of a shared loop; does nothing on an exclusive loop.
class descriptor_lock {
 public:
  descriptor_lock(const driver_host& host, descriptor& d) noexcept
      : locked_(host.is_shared() ? &d : nullptr) {
    if (locked_ != nullptr) acquire(host, d);
  }
  ~descriptor_lock() {
    if (locked_ != nullptr) locked_->lock.unlock();
  }
  descriptor_lock(const descriptor_lock&) = delete;
  descriptor_lock& operator=(const descriptor_lock&) = delete;

  /// Takes the lock. Does not wait in a child of fork: it has only one thread, and the holder
  /// exists in the parent only.
  static void acquire(const driver_host& host, descriptor& d) noexcept {
    while (!d.lock.try_lock()) {
      if (host.is_forked_copy()) return;
      d.lock.wait();
    }
  }

 private:
  descriptor* locked_;
};

}  // namespace beck::detail
