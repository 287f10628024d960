// SPDX-License-Identifier: BSL-1.0
// Parking, listing and waking by readiness, which the kernel or the simulated network reports. The
// rules of io/op/readiness.hpp decide which of these happens to an operation.
#include "io/driver/readiness_driver.hpp"

#include <cerrno>

#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
namespace {

/// Returns whether an operation of `d` waits for an event.
bool has_parked(const descriptor& d) noexcept {
  for (const direction& q : d.queue) {
    if (q.current != nullptr && q.current->state == op_state::parked) return true;
  }
  return false;
}

}  // namespace

readiness_driver::readiness_driver(driver_host& host, loop_core& core, bool unwatches) noexcept
    : host_(host), core_(core), unwatches_(unwatches && !core.is_shared) {}

void readiness_driver::attach(descriptor& d) noexcept {
  // The first attempt costs no additional call: the descriptor is not watched yet.
  note_ready(d.queue[direction_in]);
  note_ready(d.queue[direction_out]);
  if (unwatches_) d.queue[direction_in].arming.begin_unarmed();
}

/// Lists `op`, or queues its attempt, if its socket is to stay without events: late attempts of its
/// reads have kept finding data. Returns false if `op` needs them.
bool readiness_driver::submit_unwatched(io_op& op) noexcept {
  descriptor& d = *op.target;
  direction& q = d.queue[direction_in];
  if (!q.arming.arms()) return false;
  if (!worth_attempting_late(op, q)) {
    if (q.ready == readiness::no) return false;
    host_.queue_attempt(op);
    return true;
  }
  advance(op, op_event::list);
  fresh_.add(op);
  if (q.arming.take_return() && is_watched(d)) has_parked(d) ? q.arming.stop() : unwatch(d);
  return true;
}

void readiness_driver::submit(io_op& op) noexcept {
  if (op.kind == op_kind::raw) return host_.finish(op, -EOPNOTSUPP);  // there is no ring
  descriptor& d = *op.target;
  const direction& q = d.queue[direction_of(op.kind)];
  if (!is_file(op.kind)) {
    const bool reads = &q == &d.queue[direction_in];
    if (unwatches_ && reads && submit_unwatched(op)) return;
    if (!(reads && is_watched(d))) {  // every watch reports what reads wait for
      if (unwatches_) d.queue[direction_in].arming.stop();
      if (!watch(d, op)) return;
    }
  }
  switch (step_by_readiness(op, q)) {
    case next_step::on_thread:
      return host_.run_blocking(op);
    case next_step::attempt_late:
      if (!core_.is_shared) {
        advance(op, op_event::list);
        fresh_.add(op);
        return;
      }
      if (host_.list_late_attempt(op)) return;  // each thread has lists of its own
      break;
    case next_step::attempt:
      return host_.queue_attempt(op);
    case next_step::await_event:
    case next_step::submit:
    case next_step::submit_late:
      break;
  }
  if (q.ready != readiness::no) return host_.queue_attempt(op);
  advance(op, op_event::park);
  count_parked(1);
}

void readiness_driver::after_fork_in_child() noexcept {
  const auto end = [this](io_op& op) { host_.finish(op, -ECANCELED); };
  due_.take(end);
  fresh_.take(end);
}

void readiness_driver::begin_poll(poll_mode mode) noexcept {
  attempt_due();
  due_.rotate(fresh_);
  if (mode == poll_mode::drain) attempt_due();
}

void readiness_driver::attempt_due() noexcept {
  due_.take([this](io_op& op) { host_.queue_late_attempt(op); });
}

void readiness_driver::note(descriptor& d, unsigned events) noexcept {
  const unsigned woken = note_events(host_, core_, d, events);
  if (woken != 0) count_parked(-static_cast<int>(woken));
}

}  // namespace beck::detail
