// SPDX-License-Identifier: BSL-1.0
// What a driver sees of the loop that owns it: what happens to its operations, the descriptors that
// they belong to, and the few things of the loop that a visit to the kernel has to look at.
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

/// Thread: the runner. Nothing here runs user code, except that of a custom executor's post().
class driver_host {
 public:
  driver_host(const driver_host&) = delete;
  driver_host& operator=(const driver_host&) = delete;

  // --- what becomes of operations
  /// Queues the completion of `op` with this result, and starts the next of its direction.
  virtual void finish(io_op& op, int result) noexcept = 0;
  /// Queues an attempt of `op`.
  virtual void queue_attempt(io_op& op) noexcept = 0;
  /// Queues an attempt of a read that was listed, although nothing says that it will find data.
  virtual void queue_late_attempt(io_op& op) noexcept = 0;
  /// Lists a read of a shared loop for such an attempt, or queues one. False: only an event helps.
  virtual bool list_late_attempt(io_op& op) noexcept = 0;
  /// Goes on with a call on a file whose result is `result`, or finishes it.
  virtual void take_file_result(file_operation& op, std::ptrdiff_t result) noexcept = 0;
  /// Has a thread make the call of `op`: loop_jobs::run(). Ends that: loop_jobs::cancel().
  virtual void run_blocking(io_op& op) noexcept = 0;
  virtual void cancel_blocking(io_op& op) noexcept = 0;
  /// An operation of `d` has come back, perhaps the last that its close waits for.
  virtual void close_if_idle(descriptor& d) noexcept = 0;

  // --- around a visit to the kernel
  virtual mailbox& mail() noexcept = 0;
  /// Let other threads of a shared loop in while the driver does not touch it.
  virtual void pause_lock() noexcept = 0;
  virtual void resume_lock() noexcept = 0;
  /// Whether entries wait in the run queue.
  bool has_queued() const noexcept { return !queue_.empty(); }

  // --- what there is
  descriptor& descriptor_at(std::uint32_t index) noexcept { return descriptors_.at(index); }
  system& sys() noexcept { return *system_; }
  context_stats& counters() noexcept { return counters_; }
  const readiness_rules& rules() const noexcept { return rules_; }
  bool is_shared() const noexcept { return is_shared_; }
  /// Whether this process forked off the one that made the loop.
  bool is_forked_copy() const noexcept { return forks_ != known_fork_count(); }

 protected:
  driver_host(io_loop& loop, bool shared, bool learns) noexcept
      : is_shared_(shared), rules_{learns, true}, descriptors_(loop) {}
  ~driver_host() = default;

  entry_queue queue_;
  const bool is_shared_;
  readiness_rules rules_;
  const unsigned forks_ = fork_count();
  std::unique_ptr<system> system_;
  context_stats counters_;
  descriptor_table descriptors_;
};

/// The lock of a descriptor of a shared loop; of an exclusive one nothing.
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

  /// Waits for the lock; not in a child of fork, which has one thread: the owner is in the parent.
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
