// SPDX-License-Identifier: BSL-1.0
// Ends operations before they have finished by themselves, depending on where they are.
#include "io/engine/op_cancels.hpp"

#include <cerrno>

#include <beck/detail/file_operation.hpp>

#include "io/driver/listed_sends.hpp"
#include "io/engine/op_engine.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"

namespace beck::detail {

op_cancels::op_cancels(io_loop& loop, op_engine& engine) noexcept : loop_(loop), engine_(engine) {}

void op_cancels::cancel_one(io_op& op) noexcept {
  switch (op.state) {
    case op_state::ready:  // in the run queue: the attempt finds the flag
      op.flags |= io_op::flag_cancelled;
      return;
    case op_state::parked:
      if (is_paused(op)) {
        engine_.attempts().leave_pause(op);
      } else {
        engine_.drv().count_parked(-1);
      }
      return engine_.finish(op, -ECANCELED);
    case op_state::listed:    // its list finds the flag when it is taken
    case op_state::finished:  // between two steps: step_again() finds the flag
      op.flags |= io_op::flag_cancelled;
      return;
    case op_state::in_kernel:
      op.flags |= io_op::flag_cancelled;
      return is_on_thread(op) ? engine_.jobs().cancel(op) : engine_.drv().cancel(op);
    case op_state::inert:
    case op_state::mailed:
    case op_state::waiting:
      return;
  }
}

std::size_t mark_cancelled(entry_queue& waiting, std::uint8_t how) noexcept {
  std::size_t count = 0;
  entry_queue marked;
  for (; !waiting.empty(); ++count) {
    auto* op = static_cast<io_op*>(waiting.pop());
    op->flags |= how;
    marked.push(op);
  }
  waiting = marked;
  return count;
}

std::size_t op_cancels::cancel_all(descriptor& d) noexcept {
  std::size_t count = 0;
  const descriptor_lock held(engine_.core(), d);
  if (is_sending(d)) flush_sends();
  for (direction& q : d.queue) {
    if (q.current == nullptr) continue;
    count += 1 + mark_cancelled(q.waiting);
    cancel_one(*q.current);
  }
  for (file_operation* op = d.files; op != nullptr; ++count) {
    file_operation* const older = op->older;
    cancel_one(*op);
    op = older;
  }
  return count;
}

void op_cancels::cancel(io_op& op, bool try_first) noexcept {
  if (op.kind == op_kind::wait_timer || op.kind == op_kind::wait_signal) return cancel_wait(op);
  if (op.kind == op_kind::job) return engine_.jobs().cancel(op);
  const descriptor_lock held(engine_.core(), *op.target);
  if (is_sending(*op.target)) flush_sends();
  cancel_directed(op, try_first);
}

/// Cancels the wait for a timer or a signal, if it has not ended.
void op_cancels::cancel_wait(io_op& op) noexcept {
  if (op.state != op_state::parked) return;
  if (op.kind == op_kind::wait_signal)
    return loop_.signals().finish(static_cast<signal_wait&>(op), -ECANCELED);
  loop_.timers().cancel(static_cast<timer_operation&>(op));
}

void op_cancels::cancel_directed(io_op& op, bool try_first) noexcept {
  if (op.state == op_state::waiting) {
    direction& q = op.target->queue[direction_of(op.kind)];
    q.waiting.remove(&op);
    engine_.queue_completion(op, -ECANCELED);
    return;
  }
  const bool untried = !has_direction(op.kind) || op.kind == op_kind::file_in_order;
  if (!try_first || untried || op.kind == op_kind::connect) return cancel_one(op);
  if (op.state == op_state::listed && engine_.drv().unlist(op)) {
    engine_.queue_attempt(op);
  }
  if (op.state == op_state::ready) {
    op.flags |= io_op::flag_last_attempt;
  } else {
    cancel_one(op);
  }
}

void op_cancels::expire(descriptor& d) noexcept {
  const descriptor_lock held(engine_.core(), d);
  d.expired = true;
  for (direction& q : d.queue) {
    if (q.current == nullptr) continue;
    mark_cancelled(q.waiting, io_op::flag_cancelled | io_op::flag_timed_out);
    q.current->flags |= io_op::flag_timed_out;
    cancel_directed(*q.current, true);
  }
}

}  // namespace beck::detail
