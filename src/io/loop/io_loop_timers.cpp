// SPDX-License-Identifier: BSL-1.0
// Timer waits of a loop: they start, expire (checked once per iteration), and are cancelled.
// Nothing here is a system call, except for reading the clock.
#include <algorithm>
#include <cerrno>

#include <beck/io/timer_object.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

namespace {

void join(timer_state& timer, timer_operation& op) noexcept {
  advance(op, op_event::park);
  op.sibling_next = nullptr;
  op.sibling_previous = timer.last;
  (timer.last != nullptr ? timer.last->sibling_next : timer.first) = &op;
  timer.last = &op;
}

void leave(timer_state& timer, timer_operation& op) noexcept {
  (op.sibling_previous != nullptr ? op.sibling_previous->sibling_next : timer.first) =
      op.sibling_next;
  (op.sibling_next != nullptr ? op.sibling_next->sibling_previous : timer.last) =
      op.sibling_previous;
}

}  // namespace

void timer_operation::begin() noexcept {
  io_loop& loop = *timer->loop;
  address = &loop;
  if (!loop.on_runner()) return start_operation(*this);
  const object_use inside = use_of(*timer, "wait");
  state = op_state::inert;
  flags = 0;
  loop.start_timer(*this);
}

/// Starts a wait on the path that nearly all waits take: it calls no function and costs a third of
/// start_rare_timer().
inline void io_loop::start_timer(timer_operation& op) noexcept {
  timer_state& timer = *op.timer;
  op.expired = &expire_timer;
  if (core().closing || timer.clock != clock_kind::steady || &timer == &no_timer_ ||
      timers_.is_full()) [[unlikely]] {
    return start_rare_timer(op);
  }
  join(timer, op);
  ++core().outstanding;
  timers_.add(op);
}

void io_loop::start_rare_timer(timer_operation& op) noexcept {
  timer_state& timer = *op.timer;
  ++core().outstanding;
  if (core().closing) return queue_completion(op, -ECANCELED);
  if (&timer == &no_timer_) return queue_completion(op, -EBADF);
  const bool added = timer.clock == clock_kind::steady ? timers_.add(op) : wall_timers_.add(op);
  if (!added) return queue_completion(op, -ENOMEM);
  join(timer, op);
}

void io_loop::start_wait(io_op& op) noexcept {
  if (op.kind == op_kind::wait_signal) return start_signal_wait(static_cast<signal_wait&>(op));
  start_timer(static_cast<timer_operation&>(op));
}

void io_loop::cancel_wait(io_op& op) noexcept {
  if (op.state != op_state::parked) return;
  if (op.kind == op_kind::wait_signal)
    return finish_signal_wait(static_cast<signal_wait&>(op), -ECANCELED);
  cancel_timer(static_cast<timer_operation&>(op));
}

/// Queues the completion of a wait, which the caller removes from its queue of timers.
void io_loop::finish_timer(timer_operation& op, int result) noexcept {
  leave(*op.timer, op);
  op.result = result;
  advance(op, op_event::finish);
  --core().outstanding;
  op.run = op.complete;
  core().queue.push(&op);
}

void io_loop::expire_timer(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept {
  loop.finish_timer(static_cast<timer_operation&>(entry), shutting_down ? -ECANCELED : 0);
}

void io_loop::cancel_timer(timer_operation& op) noexcept {
  finish_timer(op, -ECANCELED);
  // Calls at the end, which need no registers to be kept.
  if (op.timer->clock == clock_kind::steady) [[likely]] {
    timers_.remove(op);
  } else {
    wall_timers_.remove(op);
  }
}

std::size_t io_loop::cancel_several_waits(timer_state& timer, std::size_t most) noexcept {
  std::size_t count = 0;
  for (; timer.first != nullptr && count < most; ++count) cancel_timer(*timer.first);
  return count;
}

std::int64_t io_loop::next_deadline() noexcept {
  return std::min(timers_.earliest(), accepts_.retry_at());
}

void io_loop::expire_timers() noexcept {
  const std::int64_t earliest = next_deadline();
  if (earliest == no_deadline) return;
  std::int64_t now = core().sys->now();
  if (planted(planted_bug::early_timer)) now += 20'000;
  if (earliest > now) return;
  core().run_state.read_at =
      now;  // else a handler would find its wait not due yet, and set it again
  if (accepts_.retry_at() <= now) accepts_.resume();
  // Takes one batch: a timer that a handler arms with a duration of zero expires in the next
  // iteration, after the kernel was polled for I/O.
  while (timer_entry* entry = timers_.take_expired(now)) entry->expired(*entry, *this, false);
}

}  // namespace beck::detail
