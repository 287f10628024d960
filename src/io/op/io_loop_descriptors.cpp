// SPDX-License-Identifier: BSL-1.0
// Descriptors are opened, closed and released by the runner; a close waits for operations that the
// kernel still has.
#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>

#include "io/loop/io_loop.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

void io_loop::open_descriptor(descriptor& d, int fd, descriptor_nature nature) noexcept {
  const descriptor_lock held(*this, d);
  open_locked(d, fd, nature);
}

void io_loop::open_locked(descriptor& d, int fd, descriptor_nature nature) noexcept {
  for (direction& q : d.queue) {
    BECK_ASSERT(q.current == nullptr && q.waiting.empty(),
                "a descriptor was opened with operations in flight");
    forget_readiness(q);
  }
  d.nature = nature;
  d.reads_until_empty = false;
  d.connecting.store(false, std::memory_order_relaxed);
  advance(d, slot_event::open);
  advance(d, watch_event::end);
  d.fd = fd;
  driver_->attach(d);
}

void io_loop::close(descriptor& d) noexcept {
  leave_to_parent();
  const descriptor_lock held(*this, d);
  expire_at(d, no_deadline);
  if (is_shared()) expect_untried(d);
  if (is_closing(d)) return;
  if (d.fd >= 0 || d.files != nullptr) {  // a file may be on its way into it
    advance(d, slot_event::detach);       // what ends at once may be the last of it
    abandon_all(d);
    if (driver_->detach(d)) return close_now(d);
    advance(d, slot_event::wait);
  } else if (d.orphaned) {
    descriptors_.free(d);
  }
}

void io_loop::close_for_good(descriptor& d) noexcept {
  d.orphaned = true;
  close(d);
}

void io_loop::close_now(descriptor& d) noexcept {
  // In this order: a child that is forked off in between must not close what has the number then.
  if (const int fd = std::exchange(d.fd, -1); fd >= 0) {
    if (std::exchange(d.leaves_child, false)) {
      system_->leave_child(fd);
    } else {
      system_->close(fd);
    }
  }
  advance(d, slot_event::close);
  ++d.generation;
  if (d.orphaned) descriptors_.free(d);
  if (!accepts_.empty()) accepts_.resume();  // S1: a descriptor is free again
}

void io_loop::close_if_idle(descriptor& d) noexcept {
  if (d.slot == slot_state::closing && d.in_kernel == 0 && !is_watched(d)) close_now(d);
}

int io_loop::release(descriptor& d) noexcept {
  leave_to_parent();
  const descriptor_lock held(*this, d);
  if (is_shared()) expect_untried(d);
  if (d.fd < 0 || is_closing(d)) return -EBADF;
  abandon_all(d);
  advance(d, slot_event::detach);
  const bool is_detached = driver_->detach(d);
  advance(d, is_detached ? slot_event::close : slot_event::stay);
  if (!is_detached) return -EBUSY;  // the kernel still works for an operation on this descriptor
  const int fd = d.fd;
  d.fd = -1;
  expire_at(d, no_deadline);
  ++d.generation;
  return fd;
}

}  // namespace beck::detail
