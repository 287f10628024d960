// SPDX-License-Identifier: BSL-1.0
// Operations of shared loops. A transfer that a handler starts takes only the lock of its
// descriptor, and releases it during the system call. Meanwhile the direction is marked as
// `trying`: no other thread attempts it, an event that comes is kept, and a close of the descriptor
// waits. All other operations hold the loop's lock as well.
#include <cerrno>
#include <optional>

#include "base/test_build.hpp"
#include "io/engine/op_engine.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
namespace {

/// Returns whether the call of such an operation is made without locks. Calls of the other kinds
/// use data that a cancel uses too, or are rare.
bool may_run_unlocked(op_kind kind) noexcept {
  return is_transfer(kind) || is_message(kind) || kind == op_kind::accept;
}

bool moves_bytes(op_kind kind) noexcept { return is_transfer(kind) || is_message(kind); }

}  // namespace

// --- locks ---------------------------------------------------------------------------------------

/// Releases all locks that the caller holds, until relock_all().
void op_engine::unlock_all(descriptor& d) noexcept {
  d.lock.unlock();
  if (on_runner()) shared_->pause_lock();
}

void op_engine::relock_all(descriptor& d) noexcept {
  if (on_runner()) shared_->lock();
  descriptor_lock::acquire(core_, d);
}

void op_engine::operation_lock::acquire(op_kind kind) noexcept {
  // Other kinds need the loop's lock: an accept may have to pause, and waits and connects are rare.
  const bool inside = moves_bytes(kind) && engine_->in_handler();
  if (!inside && !engine_->on_runner()) all_.emplace(*engine_);
  descriptor_lock::acquire(engine_->core_, d_);
}

void op_engine::operation_lock::release() noexcept {
  d_.lock.unlock();
  if (!all_ && !engine_->on_runner()) engine_->shared_->announce();
}

// --- attempts ------------------------------------------------------------------------------------

/// As make_call(), on a shared loop: without locks if the kind allows that.
std::ptrdiff_t op_engine::make_call_unlocked(io_op& op) noexcept {
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

/// As attempt(), on a shared loop: an event that came during the call is kept.
bool op_engine::attempt_shared(io_op& op, descriptor& d, direction& q) noexcept {
  const bool done = is_transfer(op.kind) ? attempt_transfer(op, d, q) : attempt_other(op, d, q);
  if (q.woken_late) {
    q.woken_late = false;
    note_ready(q);
  }
  return done;
}

/// Waits until no thread attempts an operation on `d`. Requires the locks of the loop and of `d`,
/// and releases them meanwhile.
void op_engine::wait_until_untried(descriptor& d) noexcept {
  const auto is_tried = [&d] {
    return d.queue[direction_in].trying || d.queue[direction_out].trying;
  };
  while (is_tried() && !core_.is_forked_copy() && !planted(planted_bug::hasty_close)) {
    unlock_all(d);
    shared_->yield();
    relock_all(d);
  }
}

// --- starting ------------------------------------------------------------------------------------

void op_engine::start_shared(io_op& op) noexcept {
  if (!on_runner()) shared_->yield_point();  // with the lock, the others would wait for ever
  if (!has_direction(op.kind)) {
    start_locked(op);
    return;
  }
  descriptor& d = *op.target;
  const operation_lock held(*this, d, op.kind);
  count_outstanding(1);
  if (core_.closing) return queue_completion(op, -ECANCELED);
  if (d.fd < 0 || is_closing(d)) return queue_completion(op, -EBADF);
  if (d.expired) return queue_completion(op, timeout_result);
  direction& q = d.queue[direction_of(op.kind)];
  if (q.current != nullptr) {
    advance(op, op_event::queue);
    q.waiting.push(&op);
    return;
  }
  q.current = &op;
  advance(op, op_event::wake);  // so that a cancel during the attempt marks it
  if (attempt_current(op)) finish(op, op.result);
}

/// Attempts `op` for a coroutine that has not suspended yet.
bool op_engine::attempt_in_handler(io_op& op) noexcept {
  if (!moves_bytes(op.kind) || !in_handler() || runner::current()->budget() == 0) return false;
  descriptor& d = *op.target;
  const operation_lock held(*this, d, op.kind);
  direction& q = d.queue[direction_of(op.kind)];
  if (d.fd < 0 || is_closing(d) || d.expired) return false;
  if (q.current != nullptr || q.undelivered != nullptr) return false;
  if (!worth_attempting(q, op.kind)) return false;
  op.state = op_state::inert;
  op.flags &= io_op::flag_all;
  q.current = &op;
  advance(op, op_event::wake);
  bool done = attempt(op);
  if (!done && (op.flags & io_op::flag_cancelled) != 0) {
    op.result = cancelled_result_of(op);
    done = true;
  }
  if (done) {
    advance(op, op_event::finish);
    ++runner::current()->counters.inline_completions;
  } else {
    op.state = op_state::inert;
  }
  leave_direction(op);  // without a result it will start behind the operations that came meanwhile
  return done;
}

bool op_engine::list_late_attempt(io_op& op) noexcept {
  const bool later = in_handler() && shared_runners::here().count() >= late_entries_min;
  if (!later && op.target->queue[direction_of(op.kind)].ready == readiness::no) return false;
  advance(op, op_event::wake);
  op.run = &late_attempt_entry;
  later ? shared_->list_here(&op) : enqueue(&op);
  return true;
}

}  // namespace beck::detail
