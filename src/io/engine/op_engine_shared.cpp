// SPDX-License-Identifier: BSL-1.0
// The start of operations on shared loops, under the locks that op_locks.hpp describes.
#include <cerrno>

#include "io/engine/op_engine.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

/// As attempt(), on a shared loop: an event that came during the call is kept.
bool op_engine::attempt_shared(io_op& op, descriptor& d, direction& q) noexcept {
  const bool done = is_transfer(op.kind) ? attempt_transfer(op, d, q) : attempt_rarely(op, d, q);
  if (q.woken_late) {
    q.woken_late = false;
    note_ready(q);
  }
  return done;
}

/// Starts `op`. Its handler may run, and use the object, before this call returns: so the use ends
/// when the call has the lock.
void op_engine::start_shared(io_op& op, object_use& inside) noexcept {
  if (!core_.on_runner()) shared_->yield_point();  // with the lock, the others would wait for ever
  if (!has_direction(op.kind)) {
    loop_.as_runner([&](io_loop& loop) {
      inside.leave();
      loop.engine().start(op);
    });
    return;
  }
  descriptor& d = *op.target;
  const operation_lock held(locks_, d, op.kind);
  inside.leave();
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
  const operation_lock held(locks_, d, op.kind);
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

}  // namespace beck::detail
