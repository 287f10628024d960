// SPDX-License-Identifier: BSL-1.0
// Opens, closes and releases descriptors. A close waits for the operations that the kernel still
// holds.
#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/file_operation.hpp>

#include "io/driver/listed_sends.hpp"
#include "io/engine/op_engine.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

void op_engine::open_descriptor(descriptor& d, int fd, descriptor_nature nature) noexcept {
  const descriptor_lock held(core_, d);
  open_locked(d, fd, nature);
}

void op_engine::open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept {
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
  driver_->attach(d);
}

void op_engine::close(descriptor& d) noexcept {
  after_fork_in_child();
  const descriptor_lock held(core_, d);
  disarm(d);
  wait_until_untried(d);
  if (is_closing(d)) return;
  if (is_sending(d)) flush_sends();
  if (d.fd >= 0 || d.files != nullptr) {  // an open of a file may be under way
    // first, so that the end of its last operation does not close it
    advance(d, slot_event::detach);
    abandon_all(d);
    if (driver_->detach(d)) return close_now(d);
    advance(d, slot_event::wait);
  } else if (d.orphaned) {
    core_.descriptors.free(d);
  }
}

void op_engine::close_for_good(descriptor& d) noexcept {
  d.orphaned = true;
  close(d);
}

void op_engine::close_now(descriptor& d) noexcept {
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
  if (!accepts_.empty()) accepts_.resume();  // S1: a descriptor number is free again
}

void op_engine::close_if_idle(descriptor& d) noexcept {
  if (d.slot == slot_state::closing && d.in_kernel == 0 && !is_watched(d)) close_now(d);
}

int op_engine::release(descriptor& d) noexcept {
  after_fork_in_child();
  const descriptor_lock held(core_, d);
  wait_until_untried(d);
  if (d.fd < 0 || is_closing(d)) return -EBADF;
  if (is_sending(d)) flush_sends();
  advance(d, slot_event::detach);  // first, so that no operation that ends now keeps its direction
  abandon_all(d);
  const bool is_detached = driver_->detach(d);
  advance(d, is_detached ? slot_event::close : slot_event::stay);
  if (!is_detached) return -EBUSY;  // the kernel still works for an operation on this descriptor
  const int fd = d.fd;
  d.fd = -1;
  disarm(d);
  ++d.generation;
  return fd;
}

void op_engine::give_up(descriptor& d) noexcept {
  if (d.fd < 0 && d.files == nullptr) return;
  for (direction& q : d.queue) {
    const bool in_kernel = q.current != nullptr && q.current->state == op_state::in_kernel;
    abandon(q);
    if (in_kernel) finish(*q.current, -ECANCELED);
  }
  d.in_kernel = 0;
  for (file_operation* op = d.files; op != nullptr;) {
    file_operation* const older = op->older;
    if (op->on_thread) {
      ++d.in_kernel;  // loop_jobs ends it, or its result is in the mail
    } else if (op->state == op_state::in_kernel) {
      finish(*op, -ECANCELED);
    }
    op = older;
  }
  advance(d, watch_event::end);
}

}  // namespace beck::detail
