// SPDX-License-Identifier: BSL-1.0
// Ends operations before they have finished by themselves: for a cancel, a deadline or a close. A
// result that is already known is delivered.
#include <cerrno>

#include <beck/detail/file_operation.hpp>

#include "io/driver/listed_sends.hpp"
#include "io/engine/op_engine.hpp"

namespace beck::detail {

void op_engine::cancel_one(io_op& op) noexcept {
  switch (op.state) {
    case op_state::ready:  // in the run queue: the attempt finds the flag
      op.flags |= io_op::flag_cancelled;
      return;
    case op_state::parked:
      leave_pause(op);
      driver_->cancel(op);
      return;
    case op_state::listed:
    case op_state::in_kernel:
      op.flags |= io_op::flag_cancelled;
      driver_->cancel(op);
      return;
    case op_state::finished:  // between two steps: step_again() finds the flag
      op.flags |= io_op::flag_cancelled;
      return;
    case op_state::inert:
    case op_state::mailed:
    case op_state::waiting:
      return;
  }
}

/// Marks all waiting operations of a direction as cancelled, and returns their number. They end
/// behind the current one, in the order of their starts: see leave_direction().
std::size_t op_engine::mark_cancelled(entry_queue& waiting, std::uint8_t how) noexcept {
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

std::size_t op_engine::cancel_all(descriptor& d) noexcept {
  std::size_t count = 0;
  const descriptor_lock held(core_, d);
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

void op_engine::cancel(io_op& op, bool try_first) noexcept {
  if (op.kind == op_kind::wait_timer || op.kind == op_kind::wait_signal) return cancel_wait(op);
  if (op.kind == op_kind::job) return cancel_blocking(op);
  const descriptor_lock held(core_, *op.target);
  if (is_sending(*op.target)) flush_sends();
  cancel_directed(op, try_first);
}

void op_engine::cancel_directed(io_op& op, bool try_first) noexcept {
  if (op.state == op_state::waiting) {
    direction& q = op.target->queue[direction_of(op.kind)];
    q.waiting.remove(&op);
    queue_completion(op, -ECANCELED);
    return;
  }
  const bool untried = !has_direction(op.kind) || op.kind == op_kind::file_in_order;
  if (!try_first || untried || op.kind == op_kind::connect) return cancel_one(op);
  if (op.state == op_state::listed && driver_->unlist(op)) {
    queue_attempt(op);
  }
  if (op.state == op_state::ready) {
    op.flags |= io_op::flag_last_attempt;
  } else {
    cancel_one(op);
  }
}

void op_engine::expire(descriptor& d) noexcept {
  const descriptor_lock held(core_, d);
  d.expired = true;
  for (direction& q : d.queue) {
    if (q.current == nullptr) continue;
    mark_cancelled(q.waiting, io_op::flag_cancelled | io_op::flag_timed_out);
    q.current->flags |= io_op::flag_timed_out;
    cancel_directed(*q.current, true);
  }
}

/// Ends the operations of a direction, except a current one that the kernel holds.
void op_engine::abandon(direction& q) noexcept {
  io_op* const op = q.current;
  if (op == nullptr) return;
  mark_cancelled(q.waiting);
  if (op->state == op_state::in_kernel) return;  // the waiting ones end behind it
  if (op->state == op_state::parked) return cancel_one(*op);
  if (op->state == op_state::listed && !q.waiting.empty() && driver_->unlist(*op)) {
    finish(*op, -ECANCELED);
    return;
  }
  // The run queue or a list of the driver holds the operation and ends it later, when the
  // descriptor may have another owner: so it loses its descriptor. On a shared loop it keeps it,
  // because other threads find the lock through it.
  op->flags |= io_op::flag_cancelled;
  if (!core_.is_shared) op->target = &no_descriptor_;
  q.current = nullptr;
  while (!q.waiting.empty()) queue_completion(*static_cast<io_op*>(q.waiting.pop()), -ECANCELED);
}

}  // namespace beck::detail
