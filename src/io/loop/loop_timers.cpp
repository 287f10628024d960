// SPDX-License-Identifier: BSL-1.0
// Waits for timers: they start, expire (checked once per iteration), and are cancelled.
#include "io/loop/loop_timers.hpp"

#include <cerrno>

#include "io/loop/io_loop.hpp"
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
  loop.timers().start(*this);
}

/// Starts a wait on the path that nearly all waits take: it calls no function and costs a third of
/// start_rarely().
void loop_timers::start(timer_operation& op) noexcept {
  timer_state& timer = *op.timer;
  op.expired = &expire_wait;
  if (core_.closing || timer.clock != clock_kind::steady || &timer == &vacant_ || steady_.is_full())
      [[unlikely]] {
    return start_rarely(op);
  }
  join(timer, op);
  ++core_.outstanding;
  steady_.add(op);
}

void loop_timers::start_rarely(timer_operation& op) noexcept {
  timer_state& timer = *op.timer;
  ++core_.outstanding;
  if (core_.closing) return finish_wait(core_, op, -ECANCELED);
  if (&timer == &vacant_) return finish_wait(core_, op, -EBADF);
  const bool added = timer.clock == clock_kind::steady ? steady_.add(op) : wall_.add(op);
  if (!added) return finish_wait(core_, op, -ENOMEM);
  join(timer, op);
}

void loop_timers::finish(timer_operation& op, int result) noexcept {
  leave(*op.timer, op);
  finish_wait(core_, op, result);
}

void loop_timers::expire_wait(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept {
  loop.timers().finish(static_cast<timer_operation&>(entry), shutting_down ? -ECANCELED : 0);
}

void loop_timers::cancel(timer_operation& op) noexcept {
  finish(op, -ECANCELED);
  // Calls at the end, which need no registers to be kept.
  if (op.timer->clock == clock_kind::steady) [[likely]] {
    steady_.remove(op);
  } else {
    wall_.remove(op);
  }
}

std::size_t loop_timers::cancel_several(timer_state& timer, std::size_t most) noexcept {
  std::size_t count = 0;
  for (; timer.first != nullptr && count < most; ++count) cancel(*timer.first);
  return count;
}

bool loop_timers::expire_at(descriptor& d, std::int64_t when) noexcept {
  if (d.expiry.is_armed()) steady_.remove(d.expiry);
  d.expired = false;
  if (when == timer_queue::never || core_.closing) return true;
  d.expiry.deadline = when;
  d.expiry.expired = &expire_descriptor;
  return steady_.add(d.expiry);
}

void loop_timers::expire_descriptor(timer_entry& entry, io_loop& loop,
                                    bool shutting_down) noexcept {
  if (!shutting_down) loop.cancels().expire(*static_cast<descriptor_expiry&>(entry).owner);
}

void loop_timers::expire(std::int64_t now) noexcept {
  while (timer_entry* entry = steady_.take_expired(now)) entry->expired(*entry, loop_, false);
}

void loop_timers::cancel_all() noexcept {
  while (timer_entry* entry = steady_.take_any()) entry->expired(*entry, loop_, true);
}

}  // namespace beck::detail
