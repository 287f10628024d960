// SPDX-License-Identifier: BSL-1.0
// The steps of composed operations. Between two steps an operation stays the current one of its
// direction. No other operation can come in between, and a cancel and a close find it there.
#include "io/engine/op_engine.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

bool op_engine::step_again(io_op& op) noexcept {
  const operation_lock held(locks_, *op.target, op.kind);
  if ((op.flags & io_op::flag_cancelled) != 0) {
    op.result = cancelled_result_of(op);
    return true;
  }
  count_outstanding(1);
  advance(op, op_event::wake);  // under way again: the driver may refuse it at once, and finish it
  if (!attempt_current(op)) return false;
  advance(op, op_event::finish);
  count_outstanding(-1);
  return true;
}

void op_engine::end_steps(io_op& op) noexcept {
  const operation_lock held(locks_, *op.target, op.kind);
  op.flags &= static_cast<std::uint8_t>(~io_op::flag_steps);
  leave_direction(op);
}

bool begin_immediate_anywhere(io_op& op, bool (*begin)(io_op& op) noexcept) noexcept {
  io_loop& loop = loop_of(op);
  if (runner::current() != nullptr || loop.core().is_shared) return begin(op);
  bool done = false;
  const auto begin_here = [&](io_loop& here) {
    here.run_state().refill();
    done = begin(op);
  };
  return loop.as_runner(begin_here) ? done : begin(op);
}

}  // namespace beck::detail
