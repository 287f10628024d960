// SPDX-License-Identifier: BSL-1.0
// The turn, and what the loop asks for between turns (nothing of which touches the ring but
// detach).
#include "io/uring/uring_driver.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>

#include "base/fatal_call.hpp"
#include "io/driver/driver_host.hpp"
#include "io/loop/mailbox.hpp"
#include "io/op/perform.hpp"
#include "io/op/transitions.hpp"
#include "io/system/wake.hpp"
#include "io/uring/probe.hpp"

namespace beck::detail {
namespace {

constexpr std::int64_t back_off_ns_min = 1'000'000;
constexpr std::int64_t back_off_ns_max = 16'000'000;
/// Visits in detach() until what was cancelled has come back; the kernel answers in the first one.
constexpr int detach_polls_max = 4;

}  // namespace

uring_driver::uring_driver(driver_host& host, uring::ring_kernel& kernel,
                           const uring_driver_options& options)
    : host_(host), options_(options) {
  const uring::probe_result probed = uring::open_probed(ring_, kernel, options_.ring);
  report_ = probed.text;
  if (!probed.opened) {
    const int error = probed.error != 0 ? probed.error : EOPNOTSUPP;
    throw io_error(make_error(-error), "io_uring", text_view(report_));
  }
  wake_fd_ = wake_open();
  if (wake_fd_ < 0) throw_error(make_error(wake_fd_), "eventfd");
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
  stats.retries += s.refused + s.busy + s.overflows + s.partial;
}

void uring_driver::attach(descriptor& d) noexcept {
  // Arming finds what is there, for the price of asking; what is no socket is never armed.
  if (!is_socket(d)) note_ready(d.queue[direction_in]);
  note_ready(d.queue[direction_out]);
}

void uring_driver::submit(io_op& op) noexcept {
  switch (next_step_of(op)) {
    case next_step::attempt:
      return host_.queue_attempt(op);
    case next_step::attempt_late:
    case next_step::submit_late:
      advance(op, op_event::list);
      fresh_.add(op);
      if (op.target->queue[direction_in].arming.take_return()) unwatch(*op.target);
      return;
    case next_step::submit:
      advance(op, op_event::list);
      return now_.add(op);
    case next_step::await_event:
      advance(op, op_event::park);
      return watch(*op.target);
    case next_step::on_thread:
      return host_.run_blocking(op);
  }
}

void uring_driver::cancel(io_op& op) noexcept {
  if (is_on_thread(op)) {
    host_.cancel_blocking(op);
  } else if (op.state == op_state::parked) {
    host_.finish(op, -ECANCELED);
  } else if (op.state == op_state::in_kernel && (op.flags & io_op::flag_cancel_queued) == 0) {
    op.flags |= io_op::flag_cancel_queued;
    cancels_.push(&op);
  }  // listed: the flag ends it when its list is taken
}

bool uring_driver::detach(descriptor& d) noexcept {
  if (d.watch == watch_state::arming) {  // not written yet
    unlink(polls_, d);
    advance(d, watch_event::end);
  }
  if (!is_watched(d) && d.in_kernel == 0) return true;
  if (host_.is_forked_copy()) return false;  // the ring is the parent's
  for (direction& q : d.queue) {
    if (q.current == nullptr || q.current->state != op_state::in_kernel) continue;
    q.current->flags |= io_op::flag_cancelled;
    cancel(*q.current);
  }
  unwatch(d);
  // close(2) cancels nothing and the kernel holds the file while an entry of ours does: so cancel,
  // enter once and reap before it. Then the peer sees the end, and the number is free, when close()
  // returns.
  for (int polls = 0; polls < detach_polls_max && (is_watched(d) || d.in_kernel != 0); ++polls) {
    write_prepared();
    enter(0, 0);
    collect();
  }
  // A ring that another thread ran before answers only when that thread enters the kernel or ends:
  // up to some milliseconds later. Then the close waits, and the last completion does it.
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
  cancels_ = entry_queue();  // what they name has ended
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

void uring_driver::poll(poll_mode mode, std::int64_t deadline) noexcept {
  write_prepared();
  write_or_keep(due_);
  due_.rotate(fresh_);
  if (mode == poll_mode::drain || !options_.lazy) write_or_keep(due_);

  if (mode != poll_mode::wait || host_.has_queued()) {
    if (mode == poll_mode::drain || ring_.prepared() != 0 || ring_.flagged()) enter(0, 0);
    collect();
    return;
  }
  if (!due_.empty() && (ring_.prepared() != 0 || ring_.flagged())) enter(0, 0);
  if (collect() != 0) return;
  write_or_keep(due_);  // nothing came of the others: what was to wait longer is needed now
  if (host_.has_queued()) {
    if (ring_.prepared() != 0) enter(0, 0);
    collect();
    return;
  }
  sleep(deadline);
}

/// U2, U3: what found no room in the queue. Without it a sleep could have no end.
bool uring_driver::has_unwritten() const noexcept {
  return !wake_watched_ || !cancels_.empty() || unwatched_ != nullptr || polls_ != nullptr ||
         !now_.empty() || !due_.empty();
}

void uring_driver::sleep(std::int64_t deadline) noexcept {
  if (has_unwritten()) {  // there is room when the kernel has taken what is prepared
    const bool taken = enter(0, 0);
    if (collect() == 0 && !taken) back_off();
    return;
  }
  if (!host_.mail().sleep()) return;  // the next turn submits what is prepared
  const bool timed = deadline != INT64_MAX;
  const bool expired = timed && deadline <= host_.sys().now();
  const unsigned marked = armed_in_next_ && write_marker() ? 1 : 0;
  const bool learns = !armed_in_next_ || marked != 0;
  const bool taken = enter(expired ? 0 : 1 + marked, timed ? deadline : uring::ring::no_deadline);
  if (!learns) ++enter_number_;  // its receives are taken for ones that came later
  host_.mail().awake();
  if (collect() == 0 && !taken) back_off();
}

/// One visit to the kernel. False: it took no entries (U2, U3); they stay the ring's for the next
/// visit.
bool uring_driver::enter(unsigned wait_for, std::int64_t deadline) noexcept {
  ++enter_number_;
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

/// The kernel is out of memory and nothing completes: look again soon, not at once.
void uring_driver::back_off() noexcept {
  back_off_ns_ = back_off_ns_ == 0 ? back_off_ns_min : back_off_ns_ * 2;
  if (back_off_ns_ > back_off_ns_max) back_off_ns_ = back_off_ns_max;
  const int seen = host_.sys().poll(wake_fd_, poll_in, host_.sys().now() + back_off_ns_);
  if (seen < 0) end_without_call("ppoll", -seen);
}

}  // namespace beck::detail
