// SPDX-License-Identifier: BSL-1.0
// The data of a loop that its engine, its timers and its driver use as well: the run queue, the
// system, the descriptors and the counters. And the lock of a descriptor.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>
#include <beck/io/io_context.hpp>

#include "base/fork_count.hpp"
#include "io/op/descriptor_table.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

struct mailbox_parts;
template <class Parts>
class basic_mailbox;
using mailbox = basic_mailbox<mailbox_parts>;

/// Thread: the runner. Any thread may read the constants and call is_forked_copy() and
/// on_runner().
struct loop_core {
  loop_core(io_loop& loop, mailbox& letters, bool shared, bool learns) noexcept
      : is_shared(shared), rules{learns, true}, mail(letters), descriptors(loop) {}
  loop_core(const loop_core&) = delete;
  loop_core& operator=(const loop_core&) = delete;

  /// Returns whether the caller may touch the loop: it runs an exclusive loop, or holds the lock of
  /// a shared one.
  bool on_runner() const noexcept { return runner::current() == &run_state; }
  /// Returns whether the caller is a handler of a shared loop, without the loop's lock. It has a
  /// queue and counters of its own.
  bool has_own_queue() const noexcept { return is_shared && !on_runner(); }
  /// Returns whether this process is a child of fork of the process that made the loop.
  bool is_forked_copy() const noexcept { return forks != known_fork_count(); }
  /// Returns whether `op` waits for the next poll instead of being attempted. Not in a child of
  /// fork: nothing polls there.
  bool batches(const io_op& op, const direction& q) const noexcept {
    return batches_sends && may_be_batched(op, q) && !is_forked_copy();
  }

  entry_queue queue;  ///< the run queue
  const bool is_shared;
  bool batches_sends = false;   ///< small sends wait for the next poll
  bool closing = false;         ///< operations end at once with ECANCELED
  bool left_to_parent = false;  ///< this is a child of fork, and has given the kernel's state up
  readiness_rules rules;
  const unsigned forks = fork_count();
  std::unique_ptr<system> sys;
  std::uint64_t outstanding = 0;  ///< operations in flight, as far as the runner has counted them
  mailbox& mail;
  runner run_state;
  context_stats counters;
  descriptor_table descriptors;
};

/// Sets the result of a wait for a timer or a signal, and queues its completion.
inline void finish_wait(loop_core& core, io_op& op, int result) noexcept {
  op.result = result;
  advance(op, op_event::finish);
  --core.outstanding;
  op.run = op.complete;
  core.queue.push(&op);
}

/// Holds the lock of a descriptor of a shared loop; does nothing on an exclusive loop.
class descriptor_lock {
 public:
  descriptor_lock(const loop_core& core, descriptor& d) noexcept
      : locked_(core.is_shared ? &d : nullptr) {
    if (locked_ != nullptr) acquire(core, d);
  }
  ~descriptor_lock() {
    if (locked_ != nullptr) locked_->lock.unlock();
  }
  descriptor_lock(const descriptor_lock&) = delete;
  descriptor_lock& operator=(const descriptor_lock&) = delete;

  /// Takes the lock. Does not wait in a child of fork: it has only one thread, and the holder
  /// exists in the parent only.
  static void acquire(const loop_core& core, descriptor& d) noexcept {
    while (!d.lock.try_lock()) {
      if (core.is_forked_copy()) return;
      d.lock.wait();
    }
  }

 private:
  descriptor* locked_;
};

}  // namespace beck::detail
