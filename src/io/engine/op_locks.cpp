// SPDX-License-Identifier: BSL-1.0
// The locks of operations on shared loops. A transfer that a handler starts takes only the lock of
// its descriptor, and releases it during the system call. Meanwhile the direction is marked as
// `trying`: no other thread attempts it, an event that comes is kept, and a close of the descriptor
// waits. All other operations hold the loop's lock as well.
#include "io/engine/op_locks.hpp"

#include <cerrno>

#include "base/test_build.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"

namespace beck::detail {
namespace {

/// Returns whether the call of such an operation is made without locks. Calls of the other kinds
/// use data that a cancel uses too, or are rare.
bool may_run_unlocked(op_kind kind) noexcept {
  return is_transfer(kind) || is_message(kind) || kind == op_kind::accept;
}

}  // namespace

void op_locks::unlock_all(descriptor& d) noexcept {
  d.lock.unlock();
  if (core_.on_runner()) shared_->pause_lock();
}

void op_locks::relock_all(descriptor& d) noexcept {
  if (core_.on_runner()) shared_->lock();
  descriptor_lock::acquire(core_, d);
}

void op_locks::acquire(descriptor& d, op_kind kind, std::optional<shared_lock>& all) noexcept {
  // Other kinds need the loop's lock: an accept may have to pause, and waits and connects are rare.
  const bool inside = moves_bytes(kind) && shared_->running_here();
  if (!inside && !core_.on_runner()) all.emplace(core_, *shared_);
  descriptor_lock::acquire(core_, d);
}

void op_locks::release(descriptor& d, const std::optional<shared_lock>& all) noexcept {
  d.lock.unlock();
  if (!all && !core_.on_runner()) shared_->announce();
}

std::ptrdiff_t op_locks::make_call(io_op& op) noexcept {
  if (!may_run_unlocked(op.kind)) return perform(*core_.sys, op);
  descriptor& d = *op.target;
  direction& q = d.queue[direction_of(op.kind)];
  runner& where = *runner::current();
  const unsigned budget_left = where.budget();
  for (;;) {
    const readiness before = q.ready;
    note_not_ready(q);
    q.trying = true;
    unlock_all(d);
    shared_->yield_point();
    const std::ptrdiff_t r = perform(*core_.sys, op);
    shared_->yield_point();
    relock_all(d);
    where.refill();  // other threads have spent it if it is the loop's
    where.charge(runner::budget_per_entry - budget_left);
    q.trying = false;
    const bool woken = q.ready == readiness::known && !planted(planted_bug::late_event);
    q.ready = before;
    if (woken && r == -EAGAIN) continue;  // the event may belong to data that came after the call
    q.woken_late = woken;
    return r;
  }
}

void op_locks::wait_until_untried(descriptor& d) noexcept {
  const auto is_tried = [&d] {
    return d.queue[direction_in].trying || d.queue[direction_out].trying;
  };
  while (is_tried() && !core_.is_forked_copy() && !planted(planted_bug::hasty_close)) {
    unlock_all(d);
    shared_->yield();
    relock_all(d);
  }
}

}  // namespace beck::detail
