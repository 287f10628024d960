// SPDX-License-Identifier: BSL-1.0
// The io_uring driver outside a poll: construction, counters, the start and the end of a
// descriptor, cancellation, registered buffers and fork. Of these only detach() enters the ring.
#include "io/uring/uring_driver.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>

#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/op/perform.hpp"
#include "io/op/transitions.hpp"
#include "io/system/posix_system.hpp"
#include "io/uring/probe.hpp"

namespace beck::detail {
namespace {

/// The most enters of detach() until the cancelled operations have come back; the kernel returns
/// them in the first one.
constexpr int detach_polls_max = 4;

}  // namespace

uring_driver::uring_driver(driver_host& host, loop_core& core, uring::ring_kernel& kernel,
                           const uring_driver_options& options)
    : host_(host), core_(core), options_(options) {
  const uring::probe_result probed = uring::open_probed(ring_, kernel, options_.ring);
  report_ = probed.text;
  if (!probed.opened) {
    const int error = probed.error != 0 ? probed.error : EOPNOTSUPP;
    throw io_error(make_error(-error), "io_uring", std::string_view(report_));
  }
  wake_fd_ = wake_open();
  if (wake_fd_ < 0) throw io_error(make_error(wake_fd_), "eventfd");
}

uring_driver::~uring_driver() {
  ring_.close();
  ::close(wake_fd_);
}

void uring_driver::close_handles() noexcept {
  ring_.after_fork_in_child();
  ::close(wake_fd_);
}

void uring_driver::add_stats(context_stats& stats) const noexcept {
  const uring::ring_stats& s = ring_.stats();
  stats.kernel_entries += s.enters;
  stats.entries_submitted += s.submitted;
  stats.completions += s.completions;
  stats.lazy_armed += lazily_armed_;
  stats.arming_stops += arming_stops_;
  stats.sends_batched += sends_batched_;
  stats.retries += s.refused + s.busy + s.overflows + s.partial;
}

void uring_driver::attach(descriptor& d) noexcept {
  // A socket's reads are armed instead, which finds the data that is there for the price of asking;
  // other descriptors are never armed.
  if (!is_socket(d)) note_ready(d.queue[direction_in]);
  note_ready(d.queue[direction_out]);
}

void uring_driver::cancel(io_op& op) noexcept {
  BECK_ASSERT(op.state == op_state::in_kernel && !is_on_thread(op),
              "the ring is to cancel an operation that it does not hold");
  if ((op.flags & io_op::flag_cancel_queued) != 0) return;
  op.flags |= io_op::flag_cancel_queued;
  cancels_.push(&op);
}

bool uring_driver::detach(descriptor& d) noexcept {
  if (d.watch == watch_state::arming) unwatch(d);
  if (!is_watched(d) && d.in_kernel == 0) return true;
  if (core_.is_forked_copy()) return false;  // the ring is the parent's
  unwatch(d);
  // close(2) cancels nothing, and the kernel holds the file while one of the ring's entries uses
  // it. So this writes the cancels that the engine has asked for, enters once and reaps before the
  // close: then the peer sees the end, and the number is free, when close() returns.
  for (int polls = 0; polls < detach_polls_max && (is_watched(d) || d.in_kernel != 0); ++polls) {
    write_prepared();
    enter(0, 0);
    collect();
  }
  // A ring that another thread ran before returns that thread's operations only when that thread
  // enters the kernel or ends: up to some milliseconds later. Then the close waits, and the last
  // completion performs it.
  return d.in_kernel == 0 && !is_watched(d);
}

int uring_driver::register_buffers(const io_vector* parts, unsigned count) noexcept {
  if (registered_ != nullptr) return -EBUSY;
  const int result = ring_.kernel().control(ring_.fd(), IORING_REGISTER_BUFFERS,
                                            const_cast<io_vector*>(parts), count);
  if (result < 0) return result;
  registered_ = parts;
  registered_count_ = count;
  return 0;
}

void uring_driver::unregister_buffers() noexcept {
  if (registered_ == nullptr) return;  // a child of fork has left them to the parent
  BECK_ASSERT(registered_in_flight_ == 0, "registered buffers end while an operation uses them");
  registered_ = nullptr;
  registered_count_ = 0;
  static_cast<void>(ring_.kernel().control(ring_.fd(), IORING_UNREGISTER_BUFFERS, nullptr, 0));
}

void uring_driver::after_fork_in_child() noexcept {
  registered_ = nullptr;
  registered_in_flight_ = 0;
  cancels_ = entry_queue();  // their operations have ended
  while (polls_ != nullptr) {
    descriptor& d = *std::exchange(polls_, polls_->next);
    d.next = nullptr;
    advance(d, watch_event::end);
  }
  while (unwatched_ != nullptr) {
    descriptor& d = *std::exchange(unwatched_, unwatched_->next);
    d.next = nullptr;
    advance(d, watch_event::end);
  }
  in_flight_ = watched_ = 0;
  ring_.after_fork_in_child();
  const auto end = [this](io_op& op) { host_.finish(op, -ECANCELED); };
  now_.take(end);
  due_.take(end);
  fresh_.take(end);
}

}  // namespace beck::detail
