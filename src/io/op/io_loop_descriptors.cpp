// SPDX-License-Identifier: BSL-1.0
// The loop's table of descriptors: slots are handed out on any thread, closed on the runner, reused
// with a new generation and freed only with the loop, so a late event can always be recognised.
#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>

#include "io/loop/io_loop.hpp"
#include "io/op/readiness.hpp"

namespace beck {

descriptor* io_loop::allocate_descriptor(const any_io_executor& executor) {
  std::unique_lock lock(table_mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) {
    throw_error(error::no_descriptors, "io_context: descriptor table, in a child of fork");
  }
  if (free_descriptors_ == nullptr) {
    std::uint32_t chunk = 0;
    while (chunk < descriptor_chunks::most &&
           chunks_[chunk].load(std::memory_order_relaxed) != nullptr)
      ++chunk;
    if (chunk == descriptor_chunks::most)
      throw_error(error::no_descriptors, "io_context: descriptor table");
    const std::uint32_t size = descriptor_chunks::size(chunk);
    auto* made = new descriptor[size];
    for (std::uint32_t i = size; i > 0; --i) {
      descriptor& d = made[i - 1];
      d.index = descriptor_chunks::begin(chunk) + i - 1;
      d.loop = this;
      d.expiry.owner = &d;
      d.next = free_descriptors_;
      free_descriptors_ = &d;
    }
    chunks_[chunk].store(made, std::memory_order_release);  // pairs with descriptor_at
  }
  descriptor* d = free_descriptors_;
  free_descriptors_ = d->next;
  d->next = nullptr;
  d->executor = executor;
  d->orphaned = false;
  d->may_be_opening = false;
  d->user_non_blocking = false;
  return d;
}

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
  d.registered = false;
  d.arming = false;
  d.fd = fd;
  driver_->attach(d);
}

void io_loop::free_descriptor(descriptor& d) noexcept {
  std::unique_lock lock(table_mutex_, std::defer_lock);
  if (!take_unless_lost(lock, forks_)) return;
  d.executor = any_io_executor();
  ++d.generation;
  d.next = free_descriptors_;
  free_descriptors_ = &d;
}

void io_loop::close(descriptor& d) noexcept {
  leave_to_parent();
  const descriptor_lock held(*this, d);
  expire_at(d, no_deadline);
  if (is_shared()) expect_untried(d);
  if (d.closing) return;
  if (d.fd >= 0 || d.files != nullptr) {  // a file may be on its way into it
    d.closing = true;
    d.detaching = true;  // what ends at once may be the last of it
    abandon_all(d);
    d.detaching = false;
    if (driver_->detach(d)) close_now(d);
  } else if (d.orphaned) {
    free_descriptor(d);
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
  d.closing = false;
  ++d.generation;
  if (d.orphaned) free_descriptor(d);
  if (!paused_.empty()) resume_acceptors();  // S1: a descriptor is free again
}

void io_loop::close_if_idle(descriptor& d) noexcept {
  if (d.closing && d.in_kernel == 0 && !d.registered && !d.detaching) close_now(d);
}

int io_loop::release(descriptor& d) noexcept {
  leave_to_parent();
  const descriptor_lock held(*this, d);
  if (is_shared()) expect_untried(d);
  if (d.fd < 0 || d.closing) return -EBADF;
  abandon_all(d);
  if (!driver_->detach(d))
    return -EBUSY;  // the kernel still works for an operation on this descriptor
  const int fd = d.fd;
  d.fd = -1;
  expire_at(d, no_deadline);
  ++d.generation;
  return fd;
}

}  // namespace beck
