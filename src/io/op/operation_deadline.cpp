// SPDX-License-Identifier: BSL-1.0
// Deadlines of single operations, in the timer queue of the operation's own loop.
#include <beck/detail/timed_operation.hpp>

#include <cerrno>

#include "io/loop/loop_access.hpp"

namespace beck::detail {

bool operation_deadline::on_runner(const io_op& op) noexcept { return loop_of(op).on_runner(); }

void operation_deadline::mail(io_op& op, begin_function begin) noexcept {
  io_loop& loop = loop_of(op);
  const object_use inside = use_for(op);
  if (loop.core().is_shared) {  // the caller becomes its runner for a moment
    loop.as_runner([&op, begin](io_loop&) { begin(op); });
    return;
  }
  op.state = op_state::inert;
  order_.run = &start_entry;
  order_.op = &op;
  order_.begin = begin;
  loop.send_command(&order_);
}

void operation_deadline::start_entry(queue_entry* entry, runner* where) {
  const start_order& order = *static_cast<start_order*>(entry);
  if (where == nullptr) {
    order.op->result = -ECANCELED;
    order.op->transferred = 0;
    order.op->complete(order.op, nullptr);
  } else {
    const library_use going_on;
    order.begin(*order.op);
  }
}

bool operation_deadline::arm(io_op& op) noexcept {
  io_loop& loop = loop_of(op);
  op_ = &op;
  expired = &on_expired;
  deadline = limit_.limit().from(time_point(duration(loop.sys().now()))).nanoseconds();
  if (deadline == timer_queue::never || loop.timers().add(*this)) return true;
  complete_later(op, -ENOMEM);
  return false;
}

void operation_deadline::disarm() noexcept {
  io_loop& loop = loop_of(*op_);
  if (!loop.on_runner()) return loop.disarm_elsewhere(*this);
  if (is_armed()) loop.timers().remove(*this);
}

void operation_deadline::on_expired(timer_entry& entry, io_loop& loop,
                                    bool shutting_down) noexcept {
  auto& self = static_cast<operation_deadline&>(entry);
  if (shutting_down) return;
  io_op& op = *self.op_;
  const bool composed = (op.flags & (io_op::flag_steps | io_op::flag_all)) != 0;
  if (composed ? self.limit_.means_composed() : !!self.limit_.type())
    loop.cancels().cancel(op, false);
}

}  // namespace beck::detail
