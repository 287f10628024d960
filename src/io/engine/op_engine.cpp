// SPDX-License-Identifier: BSL-1.0
// The life of an operation: its start, its attempts if it is a stream transfer, and its result. Its
// state changes only through advance() (transitions.hpp).
#include <cerrno>

#include <beck/detail/file_operation.hpp>

#include "io/driver/listed_sends.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/loop/signal_state.hpp"
#include "io/op/lent_buffers.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
namespace {

/// Returns whether `op` is attempted although nothing says that its descriptor is ready. A connect
/// needs no readiness. The first accept of a socket that is not watched yet has had no event that
/// could say whether connections wait. A wait for an error waits for other events than the one
/// before it, which has taken the news of all of them.
bool is_untried(const io_op& op) noexcept {
  if ((op.flags & io_op::flag_tried) != 0) return false;
  if (op.kind == op_kind::wait_error) return is_watched(*op.target);
  return op.kind == op_kind::connect || (op.kind == op_kind::accept && !is_watched(*op.target));
}

/// Makes `op`, whose first step has finished inside start(), the current operation of its
/// direction.
void hold_direction(const loop_core& core, io_op& op) noexcept {
  if (core.closing || op.target->fd < 0 || is_closing(*op.target)) return;
  direction& q = op.target->queue[direction_of(op.kind)];
  // otherwise its stream had expired, and another operation is current
  if (q.current == nullptr) q.current = &op;
}

/// Starts the wait for a timer or a signal.
void start_wait(io_loop& loop, io_op& op) noexcept {
  if (op.kind == op_kind::wait_signal) return loop.signals().start(static_cast<signal_wait&>(op));
  loop.timers().start(static_cast<timer_operation&>(op));
}

}  // namespace

// --- starting ------------------------------------------------------------------------------------

op_engine::op_engine(io_loop& loop, mailbox& mail, const io_context::options& how)
    : core_(loop, mail, how.threads > 1, how.lazy_speculation),
      loop_(loop),
      shared_(how.threads > 1
                  ? std::make_unique<shared_runners>(loop, static_cast<unsigned>(how.threads))
                  : nullptr),
      locks_(core_, shared_.get()),
      attempts_(loop, core_, locks_, how.lease_count, how.lease_bytes),
      cancels_(loop, *this),
      files_(*this),
      descriptors_(loop, *this),
      jobs_(loop) {}

void op_engine::start(io_op& op) noexcept {
  if (start_immediate(op)) {
    ++core_.outstanding;
    if ((op.flags & io_op::flag_steps) != 0) hold_direction(core_, op);
    queue_completion(op, op.result);
  }
}

/// Starts an operation without a direction. Returns true if it has its result.
[[gnu::noinline]] bool op_engine::start_undirected(io_op& op) noexcept {
  if (op.kind == op_kind::wait_timer || op.kind == op_kind::wait_signal) {
    start_wait(loop_, op);
    return false;
  }
  if (op.kind == op_kind::file) return files_.start(static_cast<file_operation&>(op));
  if (core_.closing) {
    op.result = -ECANCELED;
    return true;
  }
  ++core_.outstanding;
  if (op.kind == op_kind::job) {
    run_blocking(op);
  } else {
    hand_over(op);
  }
  return false;
}

bool op_engine::start_immediate(io_op& op) noexcept {
  if (!has_direction(op.kind)) return start_undirected(op);
  descriptor& d = *op.target;
  if (core_.closing || d.fd < 0 || (is_closing(d) | d.expired)) {
    op.result = core_.closing ? -ECANCELED : d.fd < 0 || is_closing(d) ? -EBADF : timeout_result;
    return true;
  }
  direction& q = d.queue[direction_of(op.kind)];
  if (q.current != nullptr || !(is_vain(op, q) || core_.batches(op, q)))
    return start_in_turn(op, d, q);
  ++core_.outstanding;
  q.current = &op;
  lend_buffers(op);
  driver_->submit(op);
  return false;
}

/// Queues `op` behind the current operation of its direction, or attempts it and passes it to the
/// driver. Out of line, so that the usual start need not save registers.
[[gnu::noinline]] bool op_engine::start_in_turn(io_op& op, descriptor& d, direction& q) noexcept {
  if (is_sending(d) && &q == &d.queue[direction_out]) {
    flush_sends();
    if (q.current == nullptr) return start_immediate(op);
  }
  if (q.current != nullptr) {
    if (planted(planted_bug::overtaking_read) && is_receive(op.kind)) {
      note_ready(q);
      if (attempt(op)) return true;
    }
    ++core_.outstanding;
    advance(op, op_event::queue);
    q.waiting.push(&op);
    return false;
  }
  if (is_transfer(op.kind) ? attempt_transfer(op, d, q) : attempt(op)) return true;
  ++core_.outstanding;
  q.current = &op;
  if (!attempts_.pause_if_exhausted(op)) hand_over(op);
  return false;
}

void op_engine::hand_over(io_op& op) noexcept {
  lend_buffers(op);
  if (op.kind == op_kind::file_in_order) {  // the calls before it have moved the position
    static_cast<file_operation&>(op).offset = position_of(*core_.sys, *op.target);
  } else if (is_untried(op)) {
    note_ready(op.target->queue[direction_of(op.kind)]);
  }
  driver_->submit(op);
}

void op_engine::start_entry(queue_entry* entry, runner* where) {
  auto* op = static_cast<io_op*>(entry);
  if (where == nullptr) {
    op->complete(op, nullptr);
    return;
  }
  loop_of(*op).engine().start(*op);
}

/// Runs an entry that was queued for an attempt, and completes the operation if it has a result: in
/// the same entry, because queueing it once more would gain nothing. `Late`: no event says that
/// there is data, and the attempt finds out.
template <bool Late>
void op_engine::attempt_entry(queue_entry* entry, runner* where) {
  auto& op = *static_cast<io_op*>(entry);
  if (where == nullptr) {
    return_buffers(op);
    op.complete(&op, nullptr);
    return;
  }
  op_engine& self = op.target->loop->engine();
  const bool ended =
      self.core_.is_shared ? self.attempt_queued_locked(op, Late) : self.attempt_queued(op, Late);
  if (ended) op.complete(&op, where);
}

void op_engine::queue_attempt(io_op& op) noexcept {
  advance(op, op_event::wake);
  op.run = &attempt_entry<false>;
  enqueue(&op);
}

void op_engine::queue_late_attempt(io_op& op) noexcept {
  advance(op, op_event::wake);
  op.run = &attempt_entry<true>;
  core_.queue.push(&op);
}

bool op_engine::list_late_attempt(io_op& op) noexcept {
  const bool later = in_handler() && shared_runners::here().count() >= late_entries_min;
  if (!later && op.target->queue[direction_of(op.kind)].ready == readiness::no) return false;
  advance(op, op_event::wake);
  op.run = &attempt_entry<true>;
  later ? shared_runners::list_here(&op) : enqueue(&op);
  return true;
}

[[gnu::noinline]] bool op_engine::attempt_queued_locked(io_op& op, bool late) noexcept {
  const operation_lock held(locks_, *op.target, op.kind);
  return attempt_queued(op, late);
}

inline bool op_engine::attempt_queued(io_op& op, bool late) noexcept {
  direction& q = op.target->queue[direction_of(op.kind)];
  read_predictor learnt = q.predictor;
  constexpr unsigned ends = io_op::flag_cancelled | io_op::flag_last_attempt;
  late = late && (op.flags & ends) == 0;  // another thread may have set them meanwhile
  if (late) {
    ++counters_here(core_).speculations;
    note_ready(q);
    q.predictor.late_attempt_failed();  // taken back below if it finds data
  }
  const bool last = (op.flags & io_op::flag_last_attempt) != 0;
  const bool usual = !core_.is_shared && (op.flags & ends) == 0;  // nothing cancels it meanwhile
  if (!(usual ? attempt(op) : attempt_current(op))) {
    if (usual && !attempts_.pause_if_exhausted(op)) hand_over(op);
    return false;
  }
  if (late) {
    learnt.late_attempt_succeeded();
    q.predictor = learnt;
    if (core_.rules.learns) q.arming.note_unarmed(true);
  }
  if (last) op.flags |= io_op::flag_cancelled;  // no step follows this one
  return_buffers(op);
  advance(op, op_event::finish);
  count_outstanding(-1);
  leave_direction(op);
  return true;
}

/// Attempts `op`, the current operation of its direction, in state ready. Returns true if it has a
/// result; otherwise it has been paused or passed to the driver.
bool op_engine::attempt_current(io_op& op) noexcept {
  const bool last = (op.flags & io_op::flag_last_attempt) != 0;
  if ((op.flags & io_op::flag_cancelled) == 0) {
    if (last) note_ready(op.target->queue[direction_of(op.kind)]);
    if (attempt(op)) return true;
  }
  if (last || (op.flags & io_op::flag_cancelled) != 0) {
    op.result = cancelled_result_of(op);
    return true;
  }
  if (!attempts_.pause_if_exhausted(op)) hand_over(op);
  return false;
}

// --- attempts ------------------------------------------------------------------------------------
// An attempt in vain costs 200 ns, a missing one an entry into the kernel. worth_attempting()
// decides, from readiness and the predictor (docs/mechanisms.md).

bool op_engine::attempt(io_op& op) noexcept {
  descriptor& d = *op.target;
  direction& q = d.queue[direction_of(op.kind)];
  if (core_.is_shared) [[unlikely]]
    return attempt_shared(op, d, q);
  return is_transfer(op.kind) ? attempt_transfer(op, d, q) : attempt_rarely(op, d, q);
}

bool op_engine::attempt_transfer(io_op& op, descriptor& d, direction& q) noexcept {
  const bool receiving = is_receive(op.kind);
  runner& where = *runner::current();
  const std::size_t wanted = wanted_bytes(op);
  if (wanted == 0) {                      // a transfer of nothing needs no call
    where.charge(runner::memory_weight);  // a coroutine that does this in a loop must yield
    op.result = 0;
    return true;
  }
  return_buffers(op);
  context_stats& counters = counters_here(core_);
  while (worth_attempting(q, op.kind) && where.spend(runner::call_weight)) {
    ++counters.attempts;
    const std::ptrdiff_t r =
        core_.is_shared ? locks_.make_call(op) : perform_transfer(*core_.sys, op);
    if (r == -EAGAIN) {
      ++counters.wrong_attempts;
      note_not_ready(q);
      return false;
    }
    if (r < 0 || (r == 0 && receiving)) {
      op.result = r < 0 ? static_cast<int>(r) : eof_result;
      return true;
    }
    const auto moved = static_cast<std::size_t>(r);
    where.charge(static_cast<unsigned>(moved / runner::bytes_per_weight));
    const std::size_t asked = wanted - op.transferred;
    op.transferred += moved;
    op.result = 0;
    if (receiving) core_.rules.note_received(d, q, asked, moved);
    if (op.transferred == wanted || (op.flags & io_op::flag_all) == 0) return true;
  }
  return false;
}

// --- finishing -----------------------------------------------------------------------------------

namespace {

[[gnu::noinline]] void deliver_locked(io_op& op, runner* where) {
  {
    descriptor& d = *op.target;
    const descriptor_lock held(d.loop->core(), d);
    direction& q = d.queue[direction_of(op.kind)];
    if (q.undelivered == &op) q.undelivered = nullptr;
  }
  op.complete(&op, where);
}

/// Completes an operation of a direction, which no other completion can overtake any more.
void deliver_entry(queue_entry* entry, runner* where) {
  auto& op = *static_cast<io_op*>(entry);
  if (where != nullptr) {
    descriptor& d = *op.target;
    if (d.loop->core().is_shared) return deliver_locked(op, where);
    direction& q = d.queue[direction_of(op.kind)];
    if (q.undelivered == &op) q.undelivered = nullptr;
  }
  op.complete(&op, where);
}

}  // namespace

void op_engine::queue_completion(io_op& op, int result) noexcept {
  return_buffers(op);
  op.result = result != cancelled_result ? result : cancelled_result_of(op);
  advance(op, op_event::finish);
  count_outstanding(-1);
  // Nothing can overtake the completion of an operation in steps, because it keeps its direction.
  if (has_direction(op.kind) && (op.flags & io_op::flag_steps) == 0) {
    op.run = &deliver_entry;
    op.target->queue[direction_of(op.kind)].undelivered = &op;
  } else {
    op.run = op.complete;
  }
  enqueue(&op);
}

[[gnu::flatten]] void op_engine::finish(io_op& op, int result) noexcept {
  queue_completion(op, result);
  leave_direction(op);
}

void op_engine::leave_direction(io_op& op) noexcept {
  if (!has_direction(op.kind)) {
    if (op.kind == op_kind::file) unlink_file(static_cast<file_operation&>(op));
    return;
  }
  if ((op.flags & io_op::flag_steps) != 0 && !core_.closing && !is_closing(*op.target)) return;
  direction& q = op.target->queue[direction_of(op.kind)];
  if (q.current != &op) return;  // its descriptor was closed meanwhile
  q.current = nullptr;
  // handing_over: called by start_waiting(), which starts the next one
  if (!q.waiting.empty() && !q.handing_over) start_waiting(q);
}

/// Starts the next of the operations that wait for a direction.
[[gnu::noinline]] void op_engine::start_waiting(direction& q) noexcept {
  q.handing_over = true;
  while (!q.waiting.empty() && q.current == nullptr) {
    auto* next = static_cast<io_op*>(q.waiting.pop());
    if ((next->flags & io_op::flag_cancelled) != 0) {
      queue_completion(*next, -ECANCELED);
    } else {
      q.current = next;
      hand_over(*next);
    }
  }
  q.handing_over = false;
}

// --- called by headers ---------------------------------------------------------------------------

void start_operation(io_op& op) noexcept {
  io_loop& loop = loop_of(op);
  if (op.kind == op_kind::wait_timer) op.address = &loop;
  op.state = op_state::inert;
  op.flags &= io_op::flag_all | io_op::flag_tried | io_op::flag_steps;
  if (!loop.runs_alone()) return loop.engine().start_elsewhere(op);
  const object_use inside = use_for(op);
  loop.engine().start(op);
}

/// Starts `op` off the runner, or on a shared loop. Out of line, so that the usual start need not
/// save registers.
[[gnu::noinline]] void op_engine::start_elsewhere(io_op& op) noexcept {
  {
    object_use inside = use_for(op);
    if (core_.is_shared) return start_shared(op, inside);
  }
  advance(op, op_event::mail);
  op.run = &start_entry;
  loop_.send_command(&op);
}

bool start_operation_immediate(io_op& op) noexcept {
  io_loop& loop = loop_of(op);
  if (op.kind == op_kind::wait_timer) op.address = &loop;
  if (!loop.on_runner() ||
      (has_direction(op.kind) && op.target->queue[direction_of(op.kind)].undelivered != nullptr)) {
    if ((op.flags & io_op::flag_steps) == 0 && attempt_off_runner(op)) return true;
    start_operation(op);
    return false;
  }
  op.state = op_state::inert;
  op.flags &= io_op::flag_all | io_op::flag_tried | io_op::flag_steps;
  const object_use inside = use_for(op);
  return loop.engine().start_immediate(op);
}

}  // namespace beck::detail
