// SPDX-License-Identifier: BSL-1.0
// Opens, closes and releases descriptors, and ends the operations on those that close.
#include "io/engine/descriptor_life.hpp"

#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/file_operation.hpp>

#include "io/driver/listed_sends.hpp"
#include "io/engine/op_engine.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

descriptor_life::descriptor_life(io_loop& loop, op_engine& engine) noexcept
    : engine_(engine), core_(engine.core()) {
  vacant_.loop = &loop;
}

void descriptor_life::open(descriptor& d, int fd, descriptor_nature nature) noexcept {
  const descriptor_lock held(core_, d);
  open_locked(d, fd, nature);
}

void descriptor_life::open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept {
  for (direction& q : d.queue) {
    BECK_ASSERT(q.current == nullptr && q.waiting.empty(),
                "a descriptor was opened with operations in flight");
    forget_readiness(q);
  }
  d.nature = nature;
  d.reads_until_empty = false;
  d.control.store(control_state::not_asked, std::memory_order_relaxed);
  d.connecting.store(false, std::memory_order_relaxed);
  advance(d, slot_event::open);
  advance(d, watch_event::end);
  d.fd = fd;
  engine_.drv().attach(d);
}

void descriptor_life::close(descriptor& d) noexcept {
  engine_.after_fork_in_child();
  const descriptor_lock held(core_, d);
  d.loop->timers().expire_at(d, timer_queue::never);
  engine_.locks().wait_until_untried(d);
  if (is_closing(d)) return;
  if (is_sending(d)) flush_sends();
  if (d.fd >= 0 || d.files != nullptr) {  // an open of a file may be under way
    // first, so that the end of its last operation does not close it
    advance(d, slot_event::detach);
    abandon_all(d);
    if (engine_.drv().detach(d)) return close_now(d);
    advance(d, slot_event::wait);
  } else if (d.orphaned) {
    core_.descriptors.free(d);
  }
}

void descriptor_life::close_for_good(descriptor& d) noexcept {
  d.orphaned = true;
  close(d);
}

void descriptor_life::close_now(descriptor& d) noexcept {
  // The number is forgotten first: a child that is forked in between must not close another file
  // that has the number by then.
  if (const int fd = std::exchange(d.fd, -1); fd >= 0) {
    if (std::exchange(d.leaves_child, false)) {
      core_.sys->leave_child(fd);
    } else {
      core_.sys->close(fd);
    }
  }
  advance(d, slot_event::close);
  ++d.generation;
  if (d.orphaned) core_.descriptors.free(d);
  if (accept_pause& accepts = engine_.attempts().accepts(); !accepts.empty())
    accepts.resume();  // S1: a descriptor number is free again
}

void descriptor_life::close_if_idle(descriptor& d) noexcept {
  if (d.slot == slot_state::closing && d.in_kernel == 0 && !is_watched(d)) close_now(d);
}

int descriptor_life::release(descriptor& d) noexcept {
  engine_.after_fork_in_child();
  const descriptor_lock held(core_, d);
  engine_.locks().wait_until_untried(d);
  if (d.fd < 0 || is_closing(d)) return -EBADF;
  if (is_sending(d)) flush_sends();
  advance(d, slot_event::detach);  // first, so that no operation that ends now keeps its direction
  abandon_all(d);
  const bool is_detached = engine_.drv().detach(d);
  advance(d, is_detached ? slot_event::close : slot_event::stay);
  if (!is_detached) return -EBUSY;  // the kernel still works for an operation on this descriptor
  const int fd = d.fd;
  d.fd = -1;
  d.loop->timers().expire_at(d, timer_queue::never);
  ++d.generation;
  return fd;
}

void descriptor_life::give_up(descriptor& d) noexcept {
  if (d.fd < 0 && d.files == nullptr) return;
  for (direction& q : d.queue) {
    const bool in_kernel = q.current != nullptr && q.current->state == op_state::in_kernel;
    abandon(q);
    if (in_kernel) engine_.finish(*q.current, -ECANCELED);
  }
  d.in_kernel = 0;
  for (file_operation* op = d.files; op != nullptr;) {
    file_operation* const older = op->older;
    if (op->on_thread) {
      ++d.in_kernel;  // loop_jobs ends it, or its result is in the mail
    } else if (op->state == op_state::in_kernel) {
      engine_.finish(*op, -ECANCELED);
    }
    op = older;
  }
  advance(d, watch_event::end);
}

void descriptor_life::abandon_all(descriptor& d) noexcept {
  for (direction& q : d.queue) {
    abandon(q);
    if (q.current != nullptr && q.current->state == op_state::in_kernel)
      engine_.cancels().cancel_one(*q.current);
  }
  for (file_operation* op = d.files; op != nullptr;) {
    file_operation* const older = op->older;
    if (op->state == op_state::listed) {  // its list ends it, without its descriptor: see abandon()
      op->flags |= io_op::flag_cancelled;
      unlink_file(*op);
      op->target = &vacant_;
    } else {
      engine_.cancels().cancel_one(*op);
    }
    op = older;
  }
}

/// Ends the operations of a direction, except a current one that the kernel holds.
void descriptor_life::abandon(direction& q) noexcept {
  io_op* const op = q.current;
  if (op == nullptr) return;
  mark_cancelled(q.waiting);
  if (op->state == op_state::in_kernel) return;  // the waiting ones end behind it
  if (op->state == op_state::parked) return engine_.cancels().cancel_one(*op);
  if (op->state == op_state::listed && !q.waiting.empty() && engine_.drv().unlist(*op)) {
    engine_.finish(*op, -ECANCELED);
    return;
  }
  // The run queue or a list of the driver holds the operation and ends it later, when the
  // descriptor may have another owner: so it loses its descriptor. On a shared loop it keeps it,
  // because other threads find the lock through it.
  op->flags |= io_op::flag_cancelled;
  if (!core_.is_shared) op->target = &vacant_;
  q.current = nullptr;
  while (!q.waiting.empty())
    engine_.queue_completion(*static_cast<io_op*>(q.waiting.pop()), -ECANCELED);
}

void descriptor_life::detach_all() noexcept {
  core_.descriptors.each([this](descriptor& d) {
    if ((d.fd < 0 && d.files == nullptr) || is_closing(d)) return;  // cancelled already
    advance(d, slot_event::detach);
    abandon_all(d);
    engine_.drv().detach(d);
    advance(d, d.fd >= 0 ? slot_event::stay : slot_event::close);
  });
}

void descriptor_life::give_up_all() noexcept {
  if (engine_.drv().wake_handle() < 0) return;
  core_.left_to_parent = true;
  core_.closing = true;  // operations in the mail at the fork, and new ones, are cancelled
  core_.descriptors.each([this](descriptor& d) { give_up(d); });
  engine_.drv().after_fork_in_child();
  // Descriptors that waited for a completion, which goes to the parent. A close may free the slot,
  // so it follows after the driver has emptied its lists of descriptors.
  core_.descriptors.each([this](descriptor& d) { close_if_idle(d); });
  engine_.jobs().after_fork_in_child();
}

}  // namespace beck::detail
