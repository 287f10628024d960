// SPDX-License-Identifier: BSL-1.0
// Operations of shared loops. A transfer that a handler starts takes its descriptor's lock only,
// and lets go of that during the system call: its direction is marked as being tried meanwhile.
// Nobody else tries it then, an event that comes in between is kept, and whoever wants to close the
// descriptor waits. Everything else has the loop's lock as well.
#include <cerrno>
#include <optional>

#include "base/test_build.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/lent_buffers.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck {
using namespace detail;
namespace {

/// The others look and change at what they share with a cancel, or are rare.
bool may_run_unlocked(op_kind kind) noexcept {
  return is_transfer(kind) || is_message(kind) || kind == op_kind::accept;
}

bool moves_bytes(op_kind kind) noexcept { return is_transfer(kind) || is_message(kind); }

}  // namespace

// --- locks ---------------------------------------------------------------------------------------

/// Lets go of all locks that the caller has, by whoever goes on with the same thing.
void io_loop::let_go(descriptor& d) noexcept {
  d.lock.unlock();
  if (on_runner()) shared_->pause_lock();
}

void io_loop::take_again(descriptor& d) noexcept {
  if (on_runner()) shared_->lock();
  descriptor_lock::acquire(*this, d);
}

/// What is needed to touch an operation of `d`.
class io_loop::operation_lock {
 public:
  operation_lock(io_loop& loop, descriptor& d, op_kind kind) noexcept : loop_(loop), d_(d) {
    // An accept may have to pause, and waits and connects are rare.
    const bool inside = moves_bytes(kind) && loop.in_handler();
    if (!inside && !loop.on_runner()) all_.emplace(loop);
    descriptor_lock::acquire(loop, d);
  }
  ~operation_lock() {
    d_.lock.unlock();
    if (!all_ && !loop_.on_runner()) loop_.shared_->announce();
  }
  operation_lock(const operation_lock&) = delete;
  operation_lock& operator=(const operation_lock&) = delete;

 private:
  io_loop& loop_;
  descriptor& d_;
  std::optional<shared_lock> all_;
};

// --- what is counted and queued ------------------------------------------------------------------

void io_loop::count_outstanding(int change) noexcept {
  if (on_runner()) {
    outstanding_ += static_cast<std::uint64_t>(std::int64_t{change});
  } else {
    shared_runners::here().outstanding += change;
  }
}

context_stats& io_loop::counters_here() noexcept {
  return on_runner() ? counters_ : shared_runners::here().seen;
}

void io_loop::enqueue_shared(queue_entry* entry) noexcept {
  on_runner() ? queue_.push(entry) : shared_->queue_here(entry);
}

void io_loop::post_shared(queue_entry* entry) noexcept {
  if (!in_handler()) return post(entry);
  shared_->queue_here(entry);
  shared_->announce();
}

void io_loop::complete_shared(io_op& op, int result) noexcept {
  return_buffers(op);
  op.result = result != cancelled_result ? result : cancelled_result_of(op);
  advance(op, op_event::finish);
  count_outstanding(-1);
  // Of an operation in steps nothing overtakes the completion: it keeps its direction.
  if (has_direction(op.kind) && (op.flags & io_op::flag_steps) == 0) {
    op.run = &deliver_entry_shared;
    op.target->queue[direction_of(op.kind)].undelivered = &op;
  } else {
    op.run = op.complete;
  }
  enqueue_shared(&op);
}

void io_loop::deliver_entry_shared(queue_entry* entry, runner* where) {
  auto& op = *static_cast<io_op*>(entry);
  if (where != nullptr) {
    descriptor& d = *op.target;
    const descriptor_lock held(*d.loop, d);
    direction& q = d.queue[direction_of(op.kind)];
    if (q.undelivered == &op) q.undelivered = nullptr;
  }
  op.complete(&op, where);
}

// --- attempts ------------------------------------------------------------------------------------

std::ptrdiff_t io_loop::perform_shared(io_op& op) noexcept {
  if (!may_run_unlocked(op.kind)) return perform(*system_, op);
  descriptor& d = *op.target;
  direction& q = d.queue[direction_of(op.kind)];
  runner& where = *runner::current();
  const unsigned budget_left = where.budget();
  for (;;) {
    const readiness before = q.ready;
    note_not_ready(q);
    q.trying = true;
    let_go(d);
    shared_->meet_others();
    const std::ptrdiff_t r = perform(*system_, op);
    shared_->meet_others();
    take_again(d);
    where.refill();  // others have spent it if it is the loop's
    where.charge(runner::budget_per_entry - budget_left);
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
  const bool done = is_transfer(op.kind) ? attempt_transfer<true>(op, *op.target, q) : attempt(op);
  if (q.woken_late) note_ready(q);
  q.woken_late = false;
  return done;
}

/// Until nobody tries anything on `d`. Requires both locks, and lets go of them meanwhile.
void io_loop::expect_untried(descriptor& d) noexcept {
  const auto is_tried = [&d] {
    return d.queue[direction_in].trying || d.queue[direction_out].trying;
  };
  while (is_tried() && !inherited() && !planted(planted_bug::hasty_close)) {
    let_go(d);
    shared_->yield();
    take_again(d);
  }
}

// --- starting ------------------------------------------------------------------------------------

void io_loop::start_shared(io_op& op) noexcept {
  if (!on_runner()) shared_->meet_others();  // others would wait for the lock for ever
  if (!has_direction(op.kind)) {
    as_runner([&op](io_loop& self) { self.start(op); });
    return;
  }
  descriptor& d = *op.target;
  const operation_lock held(*this, d, op.kind);
  count_outstanding(1);
  if (closing_) return complete_shared(op, -ECANCELED);
  if (d.fd < 0 || is_closing(d)) return complete_shared(op, -EBADF);
  if (d.expired) return complete_shared(op, timeout_result);
  direction& q = d.queue[direction_of(op.kind)];
  if (q.current != nullptr) {
    advance(op, op_event::queue);
    q.waiting.push(&op);
    return;
  }
  q.current = &op;
  advance(op, op_event::wake);  // so that a cancel beside the attempt marks it
  if (try_current(op)) finish(op, op.result);
}

/// For a coroutine that has not suspended yet. True: it has a result.
bool io_loop::attempt_inline_shared(io_op& op) noexcept {
  if (!moves_bytes(op.kind) || !in_handler() || runner::current()->budget() == 0) return false;
  descriptor& d = *op.target;
  const operation_lock held(*this, d, op.kind);
  direction& q = d.queue[direction_of(op.kind)];
  if (d.fd < 0 || is_closing(d) || d.expired) return false;
  if (q.current != nullptr || q.undelivered != nullptr) return false;
  if (!worth_attempting(d, q, op.kind)) return false;
  op.state = op_state::inert;
  op.flags &= io_op::flag_all;
  q.current = &op;
  advance(op, op_event::wake);
  bool done = attempt_shared(op);
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
  leave_direction(op);  // else it starts behind what has come meanwhile
  return done;
}

bool io_loop::list_late_attempt(io_op& op) noexcept {
  const bool later = in_handler() && shared_runners::here().count() >= late_entries_min;
  if (!later && op.target->queue[direction_of(op.kind)].ready == readiness::no) return false;
  advance(op, op_event::wake);
  op.run = &late_attempt_entry_shared;
  later ? shared_->list_here(&op) : enqueue_shared(&op);
  return true;
}

/// Attempts the current operation of a direction, in state ready. True: it has a result; false: it
/// waits for its descriptor.
bool io_loop::try_current(io_op& op) noexcept {
  const bool last = (op.flags & io_op::flag_last_attempt) != 0;
  if ((op.flags & io_op::flag_cancelled) == 0) {
    if (last) note_ready(op.target->queue[direction_of(op.kind)]);
    if (attempt_shared(op)) return true;
  }
  if (last || (op.flags & io_op::flag_cancelled) != 0) {
    op.result = cancelled_result_of(op);
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
  deliver_attempt_shared(op, where, false);
}

void io_loop::late_attempt_entry_shared(queue_entry* entry, runner* where) {
  auto& op = *static_cast<io_op*>(entry);
  if (where == nullptr) return attempt_entry_shared(entry, where);
  deliver_attempt_shared(op, where, true);
}

/// `late`: nothing says that there is data, that is what is tried.
void io_loop::deliver_attempt_shared(io_op& op, runner* where, bool late) {
  io_loop& loop = *op.target->loop;
  {
    const operation_lock held(loop, *op.target, op.kind);
    direction& q = op.target->queue[direction_of(op.kind)];
    const read_predictor learnt = q.predictor;
    if (late && (op.flags & io_op::flag_cancelled) == 0) {
      ++loop.counters_here().speculations;
      note_ready(q);
      q.predictor.late_attempt_failed();  // unless it finds something
    }
    const bool last = (op.flags & io_op::flag_last_attempt) != 0;
    if (!loop.try_current(op)) return;
    q.predictor = learnt;
    if (last) op.flags |= io_op::flag_cancelled;  // no step follows this one
    return_buffers(op);
    advance(op, op_event::finish);
    loop.count_outstanding(-1);
    loop.leave_direction(op);
  }
  op.complete(&op, where);
}

// --- steps ---------------------------------------------------------------------------------------

bool io_loop::step_again_shared(io_op& op) noexcept {
  const operation_lock held(*this, *op.target, op.kind);
  if ((op.flags & io_op::flag_cancelled) != 0) {
    op.transferred = 0;
    op.result = cancelled_result_of(op);
    return true;
  }
  count_outstanding(1);
  advance(op, op_event::wake);
  if (!try_current(op)) return false;
  advance(op, op_event::finish);
  count_outstanding(-1);
  return true;
}

void io_loop::end_steps_shared(io_op& op) noexcept {
  const operation_lock held(*this, *op.target, op.kind);
  op.flags &= static_cast<std::uint8_t>(~io_op::flag_steps);
  leave_direction(op);
}

// --- what its executor does ----------------------------------------------------------------------

void io_loop::adopt_shared(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop& loop) { loop.adopt(tree); });
}

void io_loop::disown_shared(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop&) { tree.unlink(); });
}

bool io_loop::arm_shared(timer_entry& entry) noexcept {
  bool added = false;
  as_runner([&](io_loop& loop) { added = loop.timers().add(entry); });
  return added;
}

void io_loop::disarm_shared(timer_entry& entry) noexcept {
  as_runner([&entry](io_loop& loop) {
    if (entry.is_armed()) loop.timers().remove(entry);
  });
}

namespace {
io_loop& loop_from(void* self) noexcept { return *static_cast<io_loop*>(self); }
}  // namespace

const executor_table io_context::shared_loop_table{
    [](void* self, queue_entry* entry) { loop_from(self).post_shared(entry); },
    [](const void* self) noexcept { return static_cast<const io_loop*>(self)->in_handler(); },
    [](void* self, long change) noexcept { loop_from(self).work(change); },
    [](const void* self) noexcept -> execution_context* {
      return &static_cast<io_loop*>(const_cast<void*>(self))->context();
    },
    nullptr,
    nullptr,
    nullptr,
    [](void* self, owned_tree& tree) noexcept { loop_from(self).adopt_shared(tree); },
    [](void* self, std::exception_ptr error, const std::source_location* at) {
      loop_from(self).unhandled(std::move(error), at);
    },
    [](void* self, owned_tree& tree) noexcept { loop_from(self).disown_shared(tree); },
    true,
    [](void* self) noexcept { return loop_from(self).sys().now(); },
    [](void* self, timer_entry& entry) noexcept { return loop_from(self).arm_shared(entry); },
    [](void* self, timer_entry& entry) noexcept { loop_from(self).disarm_shared(entry); },
    true,
};

}  // namespace beck
