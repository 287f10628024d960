// SPDX-License-Identifier: BSL-1.0
// Operations as coroutines await them: the attempt before the suspension, the wait, its
// cancellation and the resumption; and the names of operations in errors, which are those of the
// synchronous forms.
#include <beck/base/assert.hpp>
#include <beck/detail/file_operation.hpp>
#include <beck/io/timer_object.hpp>
#include <beck/io/uring_submit.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck::detail {
namespace {

const char* name_of_call(const file_operation& op) noexcept {
  const bool positional = op.kind == op_kind::file;
  const bool whole = (op.flags & io_op::flag_all) != 0;
  switch (op.call) {
    case file_call::read:
    case file_call::read_vector:
      if (!positional) return whole ? "read" : "read_some";
      return whole ? "read_at" : "read_some_at";
    case file_call::write:
    case file_call::write_vector:
      if (!positional) return whole ? "write" : "write_some";
      return whole ? "write_at" : "write_some_at";
    case file_call::sync_all:
      return "sync_all";
    case file_call::sync_data:
      return "sync_data";
    case file_call::resize:
      return "resize";
    case file_call::open:
    case file_call::open_in:
      return "open";
    case file_call::status:
    case file_call::status_in:
      return "status";
    case file_call::list:
      return "list";
  }
  return "";
}

}  // namespace

const char* name_of(const io_op& op) noexcept {
  if (is_file(op.kind)) return name_of_call(static_cast<const file_operation&>(op));
  const bool whole = (op.flags & (io_op::flag_all | io_op::flag_steps)) != 0;
  if (!whole && is_receive(op.kind)) return "read_some";
  if (!whole && (op.kind == op_kind::send || op.kind == op_kind::send_vector)) return "write_some";
  return name_of(op.kind);
}

result_error operation::failure() const noexcept { return {make_failure(result), name_of(*this)}; }

void complete_later(io_op& op, int result) noexcept {
  op.result = result;
  op.run = op.complete;
  loop_of(op).post(&op);
}

const any_io_executor& default_executor(const io_op& op) noexcept {
  if (op.kind == op_kind::wait_signal) return set_of(op).executor;
  return op.kind == op_kind::wait_timer ? op.timer->executor : op.target->executor;
}

bool runs_operations_of(const any_io_executor& executor, const io_op& op) noexcept {
  return executor.target() == &loop_of(op);
}

bool operation::await_ready() noexcept {
  const descriptor& d = *target;
  const direction& q = d.queue[direction_of(kind)];
  io_loop& loop = *d.loop;
  // Off the runner not even reading the slot is allowed.
  if (!loop.on_runner()) return attempt_off_runner(*this);
  if (!worth_attempting(q, kind) || loop.core().batches(*this, q)) return false;
  if (loop.run_state().budget() == 0 || q.current != nullptr || q.undelivered != nullptr)
    return false;
  if (d.fd < 0 || (is_closing(d) | d.expired)) return false;
  const object_use inside = use_for(*this);
  if (!loop.engine().attempt(*this)) return false;
  ++loop.run_state().counters.inline_completions;
  return true;
}

bool operation::wait_in(continuation coroutine, scope& environment) noexcept {
  coroutine_ = coroutine;
  scope_ = &environment;
  const wait_kind* waits = &own_wait;
  if (runs_operations_of(environment.executor(), *this)) {
    complete = &resume;
  } else {
    complete = &resume_elsewhere;
    environment.executor().on_work_started();
    if (environment.executor().context_or_null() != &loop_of(*this).context()) {
      waits = &wait_elsewhere;
    }
  }
  environment.wait_at_start(this, *waits);
  if (!environment.stop_requested()) [[likely]]
    return true;
  environment.stop_waiting();
  complete_later(*this, environment.stop_result());
  return false;
}

const wait_kind operation::own_wait{&cancel_wait, "", wait_kind::leaf::operation};
const wait_kind operation::wait_elsewhere{&cancel_wait, "an operation of another context",
                                          wait_kind::leaf::operation_elsewhere};

scope* operation::cancel_wait(void* leaf, scope& from) noexcept {
  auto& op = *static_cast<operation*>(leaf);
  io_loop& loop = loop_of(op);
  const bool try_first = from.reason() == stop_reason::deadline && loop.runs_here();
  if (loop.as_runner([&](io_loop& here) { here.cancels().cancel(op, try_first); })) return nullptr;
  const auto cancel_there = [](void* there) noexcept {
    auto& arrived = *static_cast<operation*>(there);
    loop_of(arrived).cancels().cancel(arrived, false);
  };
  from.act_on(loop.executor(), cancel_there, leaf);
  loop.carry_out_commands();
  return nullptr;
}

void operation::resume(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
  ++where->counters.delivered;
  auto* self = static_cast<operation*>(static_cast<io_op*>(entry));
  scope& environment = *self->scope_;
  if (environment.stop_requested()) [[unlikely]]
    self->result = environment.explain(self->result);
  environment.resume(self->coroutine_, *where);
}

void operation::resume_elsewhere(queue_entry* entry, runner* where) {
  auto* self = static_cast<operation*>(static_cast<io_op*>(entry));
  const any_io_executor home = self->scope_->executor();
  if (where != nullptr) {
    self->run = &resume;
    home.post(self);  // from here on the frame may be gone
  }
  home.on_work_finished();
}

// --- cancelling from elsewhere: a command goes to the loop and back to the handler's executor
// -----

bool cancel_operation(io_op& op) noexcept {
  return loop_of(op).as_runner([&op](io_loop& loop) { loop.cancels().cancel(op, false); });
}

void remote_cancel::request(io_op& op, const any_io_executor& home) noexcept {
  if (cancel_operation(op) || message_) return;
  BECK_ASSERT(home.target() != &loop_of(op),
              "a cancellation_signal was emitted outside of the context that runs what "
              "listens to it");
  io_loop& loop = loop_of(op);
  message_.emplace(&act_there, this);
  op_ = &op;
  home_ = &home;
  loop.send_order(&*message_);
}

void remote_cancel::act_there(void* self) noexcept {
  auto& request = *static_cast<remote_cancel*>(self);
  loop_of(*request.op_).cancels().cancel(*request.op_, false);
  request.message_->run = &come_home;
  request.home_->post(&*request.message_);
}

void remote_cancel::come_home(queue_entry* entry, runner* where) {
  auto& request = *static_cast<remote_cancel*>(static_cast<loop_command*>(entry)->subject);
  request.message_.reset();
  if (request.delivery_ != nullptr) request.delivery_->run(request.delivery_, where);
}

// Raw entries belong to no descriptor: their target is the loop's no_descriptor().

raw_operation::raw_operation(io_context& context, fill_function how) noexcept
    : operation(op_kind::raw, nullptr, nullptr, 0), fill_(how) {
  target = &static_cast<io_loop*>(context.get_executor().target())->no_descriptor();
}

void fill_raw(io_op& op, io_uring_sqe& entry) noexcept {
  static_cast<raw_operation&>(op).fill(entry);
}

}  // namespace beck::detail
