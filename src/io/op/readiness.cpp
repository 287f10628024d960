// SPDX-License-Identifier: BSL-1.0
// Turns events into queued attempts, and the outcome of reads into expectations of the next. Makes
// no system call.
#include "io/op/readiness.hpp"

#include "base/test_build.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"

namespace beck::detail {
namespace {

unsigned wake(driver_host& host, const loop_core& core, direction& q) noexcept {
  note_ready(q);
  io_op* op = q.current;
  if (op == nullptr || op->state != op_state::parked || is_paused(*op)) return 0;
  if (planted(planted_bug::lost_wake_up) && core.counters.completions % 8 == 0) return 0;
  if (is_read(op->kind) && core.rules.learns) {
    q.predictor.waiting_was_right();
    q.arming.note_unarmed(false);
  }
  host.queue_attempt(*op);
  return 1;
}

/// Returns whether urgent data is the only boundary inside the bytes of `d`.
bool has_no_other_boundary(const descriptor& d) noexcept {
  return d.nature == descriptor_nature::tcp ||
         d.control.load(std::memory_order_relaxed) == control_state::none;
}

}  // namespace

unsigned note_events(driver_host& host, const loop_core& core, descriptor& d,
                     unsigned events) noexcept {
  const bool ended = (events & (poll_read_hang_up | poll_hang_up | poll_error)) != 0;
  unsigned woken = 0;
  if (ended || (events & poll_priority) != 0) d.reads_until_empty = true;
  if (ended || (events & poll_in) != 0) woken += wake(host, core, d.queue[direction_in]);
  if ((events & (poll_out | poll_hang_up | poll_error)) != 0)
    woken += wake(host, core, d.queue[direction_out]);
  if (ended || (events & poll_priority) != 0) woken += wake(host, core, d.queue[direction_error]);
  return woken;
}

/// Notes a short read: it has found the last of the data, or a boundary (docs/kernel.md). Urgent
/// data is one, which some drivers report. TCP has no other, and a UNIX stream has none as long as
/// no control data comes with its bytes. A socket or a pipe without a watch is checked when its
/// watch begins; a device can be impossible to watch. Otherwise there is `perhaps` more, and a late
/// attempt is best.
void readiness_rules::note_short_read(const descriptor& d, direction& q) const noexcept {
  if (!is_watched(d)) {
    q.ready = d.nature == descriptor_nature::other ? readiness::known : readiness::no;
  } else if (reports_urgent_data && has_no_other_boundary(d)) {
    q.ready = readiness::no;
  } else {
    q.ready = readiness::perhaps;
    if (learns) q.predictor.prefer_late();
  }
}

/// Notes the readiness that the kernel has reported, so that nothing is guessed. An event that came
/// since the receive was armed stays: completions of different entries are not ordered, and an edge
/// is reported once.
void readiness_rules::note_completed_receive(const descriptor& d, direction& q,
                                             bool more) const noexcept {
  if (d.reads_until_empty || more) {
    q.ready = readiness::known;
  } else if (q.ready != readiness::known) {
    q.ready = readiness::no;
    // For UNIX sockets the kernel says so since Linux 6.17.
    if (d.nature != descriptor_nature::tcp) note_short_read(d, q);
  }
}

}  // namespace beck::detail
