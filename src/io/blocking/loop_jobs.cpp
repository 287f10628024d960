// SPDX-License-Identifier: BSL-1.0
// Blocking calls: the system call behind each kind of operation, and the way of an operation from
// the loop to the threads that make the call, and back.
#include "io/blocking/loop_jobs.hpp"

#include <cerrno>
#include <new>

#include <beck/detail/file_operation.hpp>
#include <beck/detail/job_operation.hpp>

#include "io/blocking/blocking_pool.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/lent_buffers.hpp"
#include "io/op/perform.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept {
  if (op.kind == op_kind::job) return static_cast<job_operation&>(op).perform(sys);
  if (!is_file(op.kind)) return -EOPNOTSUPP;
  return_buffers(op);  // this thread writes there now, not the kernel
  return perform_file(sys, static_cast<file_operation&>(op));
}

// --- operations on their way between the loop and the pool ---------------------------------------

job_operation::job_operation(io_context& context, function what) noexcept
    : job_operation(context, what, nullptr, 0) {}

job_operation::job_operation(io_context& context, function what, void* data,
                             std::size_t bytes) noexcept
    : operation(op_kind::job, nullptr, data, bytes), function_(what) {
  target = &static_cast<io_loop*>(context.get_executor().target())->no_descriptor();
}

namespace {
/// Returns whether the operation counts as outstanding work; a detached job does not.
bool counts_as_work(const io_op& op) noexcept {
  return op.kind != op_kind::job || !static_cast<const job_operation&>(op).is_detached();
}
}  // namespace

loop_jobs::loop_jobs(io_loop& loop) noexcept : loop_(loop) {}
loop_jobs::~loop_jobs() = default;

/// Returns the driver's own blocking_jobs, or else the pool, which it makes at the first call;
/// nullptr if there is no memory for the pool.
blocking_jobs* loop_jobs::taker() noexcept {
  if (taker_ == nullptr) taker_ = loop_.drv().jobs();
  if (taker_ == nullptr) {
    pool_.reset(new (std::nothrow) blocking_pool(*this, loop_.sys()));
    taker_ = pool_.get();
  }
  return taker_;
}

void loop_jobs::run(io_op& op) noexcept {
  if (!counts_as_work(op)) --loop_.core().outstanding;
  if (is_file(op.kind)) {
    static_cast<file_operation&>(op).on_thread = true;
    ++op.target->in_kernel;
  }
  advance(op, op_event::list);
  advance(op, op_event::submit);
  blocking_jobs* const taking = taker();
  const int refused = taking != nullptr ? taking->submit(op) : -ENOMEM;
  if (refused == 0) return;  // a thread may already perform it
  op.result = refused;
  finish(op);
}

void loop_jobs::performed(io_op& op, std::ptrdiff_t result) noexcept {
  op.result = static_cast<int>(result);  // one call moves at most 0x7ffff000 bytes
  op.run = &performed_entry;
  loop_.send_command(&op);
}

void loop_jobs::performed_entry(queue_entry* entry, runner* where) {
  io_loop::of(*where).engine().jobs().take_back(*static_cast<io_op*>(entry));
}

void loop_jobs::take_back(io_op& op) noexcept {
  const descriptor_lock held(loop_.core(), *op.target);
  finish(op);
}

/// Finishes an operation whose result is in place.
void loop_jobs::finish(io_op& op) noexcept {
  if (is_file(op.kind)) {
    --op.target->in_kernel;
    static_cast<file_operation&>(op).on_thread = false;
    return loop_.engine().take_file_result(static_cast<file_operation&>(op), op.result);
  }
  if (!counts_as_work(op)) ++loop_.core().outstanding;
  loop_.engine().finish(op, op.result);
}

void loop_jobs::cancel(io_op& op) noexcept {
  if (op.state != op_state::in_kernel) return;  // it has its result already
  op.flags |= io_op::flag_cancelled;
  if (taker_ == nullptr || !taker_->withdraw(op)) return;  // null: a forked child has no pool
  op.result = -ECANCELED;
  finish(op);
}

void loop_jobs::cancel_all() noexcept {
  if (taker_ == nullptr) return;
  while (io_op* const op = taker_->withdraw_any()) {
    op->result = -ECANCELED;
    finish(*op);
  }
}

bool loop_jobs::reap(std::int64_t deadline) noexcept {
  if (taker_ == nullptr) return true;
  if (!taker_->wait_until_idle(deadline)) {
    static_cast<void>(pool_.release());
    taker_ = nullptr;
    return false;
  }
  loop_.take_mail();
  return true;
}

void loop_jobs::end_threads() noexcept {
  if (pool_ != nullptr) taker_ = nullptr;
  pool_.reset();
}

void loop_jobs::after_fork_in_child() noexcept {
  if (pool_ == nullptr) return;
  pool_->after_fork_in_child([this](io_op& op) {
    op.result = -ECANCELED;
    finish(op);
  });
  static_cast<void>(pool_.release());
  taker_ = nullptr;
}

}  // namespace beck::detail
