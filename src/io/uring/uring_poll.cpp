// SPDX-License-Identifier: BSL-1.0
// One poll of the ring: the entries that are due are written, the kernel is entered, its
// completions are taken, and small sends are batched or not until the next poll. Nothing here runs
// user code: a completion becomes readiness, a queued attempt or a queued result.
#include <cerrno>
#include <utility>

#include <beck/detail/file_operation.hpp>

#include "base/descriptor_number.hpp"
#include "base/fatal_call.hpp"
#include "base/sanitizers.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/loop/mailbox.hpp"
#include "io/op/transitions.hpp"
#include "io/system/system.hpp"
#include "io/uring/uring_driver.hpp"

namespace beck::detail {
namespace {

constexpr std::int64_t back_off_ns_min = 1'000'000;
constexpr std::int64_t back_off_ns_max = 16'000'000;

/// The polls in succession that may find completions and leave prepared entries to a later poll.
constexpr unsigned skipped_enters_max = 4;

/// The completions that a poll must find, those of sends not counted, so that sends wait for the
/// next one.
constexpr unsigned batch_found_min = 8;

/// The time that handlers may take for each completion, on average, while sends wait.
constexpr std::int64_t batch_handler_ns_max = 4'000;

/// Returns whether a result was not requested and says nothing about the descriptor: the kernel
/// ends the operations of a thread that has ended (U18), and multishots for its own reasons (U8).
bool is_ended_by_kernel(int result) noexcept {
  return result == -ECANCELED || result == -EFAULT || result == -EINTR || result == -EAGAIN;
}

/// ERESTARTSYS, the kernel's internal form of EINTR: the ring returns it for opens that are
/// cancelled.
constexpr int interrupted_inside = -512;

/// Returns whether a poll has reported nothing but the end of the peer's data, for which `op` does
/// not wait.
bool is_only_end(const io_op& op, int events) noexcept {
  return events == poll_read_hang_up && (awaited_events(op) & poll_read_hang_up) == 0;
}

/// Returns whether the kernel has ended `op` although it was not cancelled.
bool is_orphaned(const io_op& op, int result) noexcept {
  return is_ended_by_kernel(result) && (op.flags & io_op::flag_cancelled) == 0;
}

}  // namespace

// --- one poll of the kernel

bool uring_driver::poll(poll_mode mode, std::int64_t deadline) noexcept {
  const std::uint64_t enters = ring_.stats().enters;
  end_batch();
  found_ = 0;
  poll_once(mode, deadline);
  begin_batch();
  return ring_.stats().enters != enters;
}

void uring_driver::poll_once(poll_mode mode, std::int64_t deadline) noexcept {
  const bool sends = std::exchange(listed_sends_, 0) != 0;
  if (listing() == this) note_listing(nullptr);
  write_prepared();
  write_or_keep(due_);
  due_.rotate(fresh_);
  if (mode == poll_mode::drain || !options_.lazy) write_or_keep(due_);

  if (mode != poll_mode::wait || !core_.queue.empty()) {
    if (mode == poll_mode::drain || ring_.prepared() != 0 || ring_.flagged()) enter(0, 0);
    collect();
    return;
  }
  const bool may_skip = !sends && due_.empty() && ++skipped_enters_ < skipped_enters_max;
  if (!may_skip && (ring_.prepared() != 0 || ring_.flagged())) enter(0, 0);
  if (collect() != 0) return;
  write_or_keep(due_);  // no completion came: the delayed receives are needed now
  if (!core_.queue.empty()) {
    if (ring_.prepared() != 0) enter(0, 0);
    collect();
    return;
  }
  sleep(deadline);
}

/// Decides whether small sends wait for the next poll. They do after a poll that has found much,
/// unless the handlers of such a poll have taken long.
void uring_driver::begin_batch() noexcept {
  bool on = options_.batched_sends && found_ >= batch_found_min;
  if (on && batches_refused_ != 0) {
    --batches_refused_;
    on = false;
  }
  if (on) batch_began_ = core_.sys->now();
  core_.batches_sends = on;
}

/// Learns from the time for which the handlers of the last poll have delayed batched sends.
void uring_driver::end_batch() noexcept {
  if (!core_.batches_sends) return;
  if (core_.sys->now() - batch_began_ <= std::int64_t{found_} * batch_handler_ns_max) {
    next_refusal_ = batches_refused_min;
  } else {
    batches_refused_ = next_refusal_;
    if (next_refusal_ < batches_refused_max) next_refusal_ *= 2;
  }
}

/// Returns whether entries found no room in the queue (U2, U3). Without this check a sleep might
/// never end.
bool uring_driver::has_unwritten() const noexcept {
  return !wake_watched_ || !cancels_.empty() || unwatched_ != nullptr || polls_ != nullptr ||
         !now_.empty() || !due_.empty();
}

void uring_driver::sleep(std::int64_t deadline) noexcept {
  if (has_unwritten()) {  // there is room when the kernel has taken the prepared entries
    const bool taken = enter(0, 0);
    if (collect() == 0 && !taken) back_off();
    return;
  }
  if (!core_.mail.sleep()) return;  // the next poll submits the prepared entries
  const bool timed = deadline != INT64_MAX;
  const bool expired = timed && deadline <= core_.sys->now();
  const unsigned marked = armed_in_next_ && write_marker() ? 1 : 0;
  const bool learns = !armed_in_next_ || marked != 0;
  const bool taken = enter(expired ? 0 : 1 + marked, timed ? deadline : uring::ring::no_deadline);
  if (!learns) ++enter_number_;  // its receives count as ones whose data came later
  core_.mail.awake();
  if (collect() == 0 && !taken) back_off();
}

/// Enters the kernel once. Returns false if it took no entries (U2, U3); they stay in the ring for
/// the next enter.
bool uring_driver::enter(unsigned wait_for, std::int64_t deadline) noexcept {
  ++enter_number_;
  skipped_enters_ = 0;
  armed_in_next_ = false;
  completes_at_once_ = true;
  const uring::submit_result result =
      ring_.submit(wait_for, wait_for != 0 ? deadline : uring::ring::no_deadline, true);
  switch (result.status) {
    case uring::submit_status::done:
      back_off_ns_ = 0;
      return true;
    case uring::submit_status::refused:
    case uring::submit_status::busy:
      return false;
    case uring::submit_status::failed:
      break;
  }
  end_without_call("io_uring_enter", result.error);
}

/// Waits before the next attempt, because the kernel is out of memory and nothing completes.
void uring_driver::back_off() noexcept {
  back_off_ns_ = back_off_ns_ == 0 ? back_off_ns_min : back_off_ns_ * 2;
  if (back_off_ns_ > back_off_ns_max) back_off_ns_ = back_off_ns_max;
  const int seen = core_.sys->poll(wake_fd_, poll_in, core_.sys->now() + back_off_ns_);
  if (seen < 0) end_without_call("ppoll", -seen);
}

// --- completions

unsigned uring_driver::collect() noexcept {
  const unsigned count =
      ring_.for_each_completion([this](const io_uring_cqe& completion) { take(completion); });
  completes_at_once_ = false;
  return count;
}

void uring_driver::take(const io_uring_cqe& completion) noexcept {
  switch (uring::kind_of(completion.user_data)) {
    case uring::token_kind::operation:
      if (uring::operation_of(completion.user_data).kind != op_kind::send) ++found_;
      take_operation(uring::operation_of(completion.user_data), completion);
      return;
    case uring::token_kind::poll:
      ++found_;
      take_poll(completion);
      return;
    case uring::token_kind::wake:
      if (completion.res < 0 && !is_ended_by_kernel(completion.res))
        end_without_call("poll of the eventfd of an io_context", -completion.res);
      if ((completion.flags & IORING_CQE_F_MORE) == 0)
        wake_watched_ = false;  // U8: written again in the next poll
      return;
    case uring::token_kind::marker:
      completes_at_once_ = false;
      return;
    case uring::token_kind::internal:
      return;
  }
}

void uring_driver::take_poll(const io_uring_cqe& completion) noexcept {
  descriptor& d = core_.descriptors.at(uring::index_of(completion.user_data));
  const bool more = (completion.flags & IORING_CQE_F_MORE) != 0;
  if (!more) --watched_;
  if (uring::token_of(d) != completion.user_data || d.fd < 0)
    return;  // S7: the slot has a new owner
  if (!more) {
    if (d.watch == watch_state::unwatching) unlink(unwatched_, d);
    advance(d, watch_event::end);
  }
  if (is_closing(d)) {
    host_.close_if_idle(d);
    return;
  }
  if (completion.res > 0) note_events(host_, core_, d, static_cast<unsigned>(completion.res));
  direction& q = d.queue[direction_in];
  if (more || q.current == nullptr || q.current->state != op_state::parked) return;
  if (is_paused(*q.current)) return;  // a poll would find the data that it has no room for
  if (completion.res > 0 || is_ended_by_kernel(completion.res)) {
    watch(d);  // U8: the kernel has ended it
  } else {
    host_.finish(*q.current, completion.res);
  }
}

/// Takes an event of a poll that goes on. The kernel reports the end of the peer's data to each
/// poll, also to one for room, and a one-shot poll would end at once each time. So from then on the
/// polls of the direction are multishots: they report it once, and are cancelled when they have
/// reported another event (U22).
void uring_driver::take_unfinished_poll(io_op& op, int events) noexcept {
  if (is_only_end(op, events) || (op.flags & io_op::flag_cancel_queued) != 0) return;
  op.flags |= io_op::flag_cancel_queued;
  cancels_.push(&op);
}

void uring_driver::take_operation(io_op& op, const io_uring_cqe& completion) noexcept {
  if ((completion.flags & IORING_CQE_F_MORE) != 0 && ring_form_of(op) == ring_form::poll)
    return take_unfinished_poll(op, completion.res);
  annotate_acquire(&op);
  descriptor& d = *op.target;
  --d.in_kernel;
  --in_flight_;
  if ((op.flags & io_op::flag_cancel_queued) != 0) {  // it finished before its cancel was written
    entry_queue others;
    while (!cancels_.empty()) {
      queue_entry* entry = cancels_.pop();
      if (entry != &op) others.push(entry);
    }
    cancels_ = others;
    op.flags &= static_cast<std::uint8_t>(~io_op::flag_cancel_queued);
  }
  switch (ring_form_of(op)) {
    case ring_form::receive:
      return received(op, d, completion);
    case ring_form::send:
      return sent(op, d, completion.res);
    case ring_form::file:
      return take_file(static_cast<file_operation&>(op), completion.res);
    case ring_form::raw:
      if (is_orphaned(op, completion.res) && completion.res == -EINTR) break;
      return host_.finish(op, completion.res);
    case ring_form::poll:
    case ring_form::none:
      break;
  }
  // A poll: the operation that waited for it may be attempted.
  direction& q = d.queue[direction_of(op.kind)];
  const bool has_ended = completion.res == -ECANCELED && q.peer_finished;  // a multishot
  const bool is_live = !is_closing(d) && (op.flags & io_op::flag_cancelled) == 0;
  if (is_live && is_only_end(op, completion.res)) {
    q.peer_finished = true;
    advance(op, op_event::list);
    now_.add(op);
  } else if (is_live && (completion.res >= 0 || has_ended)) {
    note_ready(q);
    host_.queue_attempt(op);
  } else if (is_orphaned(op, completion.res) && !is_closing(d)) {
    advance(op, op_event::list);
    now_.add(op);
  } else {
    finish_operation(op, d, completion.res < 0 ? completion.res : -ECANCELED);
  }
}

void uring_driver::take_file(file_operation& op, int result) noexcept {
  if (is_registered(op)) --registered_in_flight_;
  if (result == interrupted_inside) result = -EINTR;
  if (op.call == file_call::open) result = behind_standard(result);
  if (!is_orphaned(op, result) || is_closing(*op.target)) {
    host_.take_file_result(op, result == -EINTR ? -ECANCELED : result);
  } else if (result == -ECANCELED || result == -EINTR) {
    submit(op);  // its thread has ended
  } else {
    host_.run_blocking(op);  // a direct call tells whether the thread or the memory is gone
  }
}

void uring_driver::finish_operation(io_op& op, descriptor& d, int result) noexcept {
  if (result >= 0 && !is_closing(d)) [[likely]]
    return host_.finish(op, result);
  finish_rarely(op, d, result);
}

[[gnu::noinline]] void uring_driver::finish_rarely(io_op& op, descriptor& d, int result) noexcept {
  // A cancel interrupts an operation that is on a kernel worker thread; an operation with EINTR
  // that was not cancelled has been submitted again before.
  host_.finish(op, result == -EINTR ? -ECANCELED : result);
  host_.close_if_idle(d);
}

/// Starts an operation again that was ended without a cancel. After EFAULT by a direct call, which
/// tells whether the thread or the memory is gone.
void uring_driver::submit_again(io_op& op, descriptor& d, int result) noexcept {
  if (result == -EFAULT) {
    note_ready(d.queue[direction_of(op.kind)]);
    host_.queue_attempt(op);
    return;
  }
  advance(op, op_event::list);
  (op.kind == op_kind::receive ? fresh_ : now_).add(op);
}

/// Learns from an armed receive whether arming pays in its direction: see arming_record.
void uring_driver::learn_arming(direction& q) noexcept {
  if (!options_.lazy || !core_.rules.learns || !q.arming.arms()) return;
  q.arming.note_armed(completes_at_once_ && q.arming.was_armed_by(enter_number_));
  if (!q.arming.arms()) ++arming_stops_;
}

void uring_driver::received(io_op& op, descriptor& d, const io_uring_cqe& completion) noexcept {
  if (completion.res < 0) {
    if (is_orphaned(op, completion.res) && !is_closing(d)) {
      submit_again(op, d, completion.res);
    } else {
      finish_operation(op, d, completion.res);
    }
    return;
  }
  if (completion.res == 0) {
    finish_operation(op, d, eof_result);
    return;
  }
  direction& q = d.queue[direction_in];
  learn_arming(q);
  op.transferred += static_cast<std::size_t>(completion.res);
  core_.rules.note_completed_receive(d, q, (completion.flags & IORING_CQE_F_SOCK_NONEMPTY) != 0);
  if ((op.flags & io_op::flag_all) == 0 || op.transferred == op.length) {
    finish_operation(op, d, 0);
  } else if ((op.flags & io_op::flag_cancelled) != 0 || is_closing(d)) {
    finish_operation(op, d, -ECANCELED);
  } else {
    advance(op, op_event::wake);  // the kernel has returned it, and it may have to be parked
    submit(op);
  }
}

void uring_driver::sent(io_op& op, descriptor& d, int result) noexcept {
  if (result < 0) {
    if (is_orphaned(op, result) && !is_closing(d)) {
      submit_again(op, d, result);
    } else {
      finish_operation(op, d, result);
    }
    return;
  }
  op.transferred += static_cast<std::size_t>(result);
  note_ready(d.queue[direction_out]);
  if ((op.flags & io_op::flag_all) == 0 || op.transferred == op.length) {
    finish_operation(op, d, 0);
  } else if ((op.flags & io_op::flag_cancelled) != 0 || is_closing(d)) {
    finish_operation(op, d, -ECANCELED);
  } else {
    host_.queue_attempt(op);  // U10: short in spite of MSG_WAITALL
  }
}

}  // namespace beck::detail
