// SPDX-License-Identifier: BSL-1.0
// Operations of shared loops. Everything happens under the lock but the system call of an attempt:
// its direction is marked as being tried meanwhile. Nobody else tries it then, an event that comes
// in between is kept, and whoever wants to close the descriptor waits.
#include <cerrno>

#include "base/test_build.hpp"
#include "io/io_loop.hpp"
#include "io/lent_buffers.hpp"
#include "io/perform.hpp"
#include "io/transitions.hpp"

namespace beck {
namespace {

/// The others look and change at what they share with a cancel, or are rare.
bool may_run_unlocked(op_kind kind) noexcept {
  return is_transfer(kind) || kind == op_kind::accept;
}

}  // namespace

std::ptrdiff_t io_loop::perform_shared(io_op& op) noexcept {
  if (!may_run_unlocked(op.kind)) return perform(*system_, op);
  direction& q = op.target->queue[direction_of(op.kind)];
  const unsigned budget_left = runner_.budget();
  for (;;) {
    const readiness before = q.ready;
    q.ready = readiness::no;
    q.trying = true;
    shared_->pause_lock();
    shared_->meet_others();
    const std::ptrdiff_t r = perform(*system_, op);
    shared_->meet_others();
    shared_->lock();
    runner_.charge(runner::budget_per_entry - budget_left);
    q.trying = false;
    const bool woken = q.ready == readiness::known && !planted(planted_bug::late_event);
    q.ready = before;
    if (woken && r == -EAGAIN) continue;  // perhaps it is for what came after the attempt
    q.woken_late = woken;
    return r;
  }
}

/// As attempt().
bool io_loop::attempt_shared(io_op& op) noexcept {
  direction& q = op.target->queue[direction_of(op.kind)];
  const bool done = attempt(op);
  if (q.woken_late) q.ready = readiness::known;
  q.woken_late = false;
  return done;
}

/// Until nobody tries anything on `d`. Requires the lock, and lets go of it meanwhile.
void io_loop::expect_untried(descriptor& d) noexcept {
  const auto is_tried = [&d] {
    return d.queue[direction_in].trying || d.queue[direction_out].trying;
  };
  while (is_tried() && !inherited() && !planted(planted_bug::hasty_close)) {
    shared_->pause_lock();
    shared_->yield();
    shared_->lock();
  }
}

void io_loop::start_shared(io_op& op) noexcept {
  shared_->meet_others();
  const shared_lock held(*this);
  descriptor* const d = has_direction(op.kind) ? op.target : nullptr;
  if (d == nullptr || closing_ || d->fd < 0 || d->closing) return start(op);  // attempts nothing
  direction& q = d->queue[direction_of(op.kind)];
  ++outstanding_;
  if (q.current != nullptr) {
    advance(op, op_event::queue);
    q.waiting.push(&op);
    return;
  }
  q.current = &op;
  advance(op, op_event::wake);  // so that a cancel beside the attempt marks it
  if (try_current(op)) finish(op, op.result);
}

/// Attempts the current operation of a direction, in state ready. True: it has a result; false: it
/// waits for its descriptor.
bool io_loop::try_current(io_op& op) noexcept {
  const bool last = (op.flags & io_op::flag_last_attempt) != 0;
  if (last) op.target->queue[direction_of(op.kind)].ready = readiness::known;
  if ((op.flags & io_op::flag_cancelled) == 0 && attempt_shared(op)) return true;
  if (last || (op.flags & io_op::flag_cancelled) != 0) {
    op.result = -ECANCELED;
    return true;
  }
  if (!pause_if_exhausted(op)) hand_over(op);
  return false;
}

void io_loop::attempt_entry_shared(queue_entry* entry, runner* where) {
  auto& op = *static_cast<io_op*>(entry);
  if (where == nullptr) {
    return_buffers(op);
    op.complete(&op, nullptr);
    return;
  }
  io_loop& loop = io_loop::of(*where);
  {
    const shared_lock held(loop);
    const bool last = (op.flags & io_op::flag_last_attempt) != 0;
    if (!loop.try_current(op)) return;
    if (last) op.flags |= io_op::flag_cancelled;  // no step follows this one
    return_buffers(op);
    advance(op, op_event::finish);
    --loop.outstanding_;
    loop.leave_direction(op);
  }
  op.complete(&op, where);
}

bool io_loop::step_again_shared(io_op& op) noexcept {
  const shared_lock held(*this);
  if ((op.flags & io_op::flag_cancelled) != 0) {
    op.transferred = 0;
    op.result = -ECANCELED;
    return true;
  }
  ++outstanding_;
  advance(op, op_event::wake);
  if (!try_current(op)) return false;
  advance(op, op_event::finish);
  --outstanding_;
  return true;
}

void io_loop::end_steps_shared(io_op& op) noexcept {
  const shared_lock held(*this);
  op.flags &= static_cast<std::uint8_t>(~io_op::flag_steps);
  leave_direction(op);
}

// --- what its executor does
// ----------------------------------------------------------------------------

void io_loop::adopt_shared(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop& loop) { loop.adopt(tree); });
}

void io_loop::disown_shared(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop&) { tree.unlink(); });
}

namespace {
io_loop& loop_from(void* self) noexcept { return *static_cast<io_loop*>(self); }
}  // namespace

const executor_table io_context::shared_loop_table{
    [](void* self, queue_entry* entry) { loop_from(self).post(entry); },
    [](const void* self) noexcept { return static_cast<const io_loop*>(self)->in_handler(); },
    [](void* self, long change) noexcept { loop_from(self).work(change); },
    [](const void* self) noexcept -> execution_context* {
      return &static_cast<io_loop*>(const_cast<void*>(self))->context();
    },
    nullptr,
    nullptr,
    nullptr,
    [](void* self, owned_tree& tree) noexcept { loop_from(self).adopt_shared(tree); },
    [](void* self, std::exception_ptr error) { loop_from(self).unhandled(std::move(error)); },
    [](void* self, owned_tree& tree) noexcept { loop_from(self).disown_shared(tree); },
    true,
};

}  // namespace beck
