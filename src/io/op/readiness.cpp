// SPDX-License-Identifier: BSL-1.0
// Turns events into queued attempts, and the outcome of reads into expectations of the next. Makes
// no system call.
#include "io/op/readiness.hpp"

#include "base/test_build.hpp"
#include "io/driver/driver_host.hpp"

namespace beck::detail {
namespace {

unsigned wake(driver_host& host, direction& q) noexcept {
  note_ready(q);
  io_op* op = q.current;
  if (op == nullptr || op->state != op_state::parked || is_paused(*op)) return 0;
  if (planted(planted_bug::lost_wake_up) && host.counters().completions % 8 == 0) return 0;
  if (is_read(op->kind) && host.rules().learns) {
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

/// Has reads of a UNIX stream ask for control data after a short one, until several in a row have
/// filled their buffers. Dropped data stays known.
void ask_for_control(descriptor& d, bool is_short) noexcept {
  constexpr std::uint8_t full_enough = 4;
  if (d.nature != descriptor_nature::unix_stream) return;
  if (is_short) {
    d.full_reads = 0;
  } else if (d.full_reads < full_enough) {
    ++d.full_reads;
    return;
  }
  const control_state wanted = is_short ? control_state::none : control_state::not_asked;
  control_state known = d.control.load(std::memory_order_relaxed);
  if (known == wanted || known == control_state::dropped) return;
  d.control.compare_exchange_strong(known, wanted, std::memory_order_relaxed);
}

}  // namespace

unsigned note_events(driver_host& host, descriptor& d, unsigned events) noexcept {
  const bool ended = (events & (poll_read_hang_up | poll_hang_up | poll_error)) != 0;
  unsigned woken = 0;
  if (ended || (events & poll_priority) != 0) d.reads_until_empty = true;
  if (ended || (events & poll_in) != 0) woken += wake(host, d.queue[direction_in]);
  if ((events & (poll_out | poll_hang_up | poll_error)) != 0)
    woken += wake(host, d.queue[direction_out]);
  if ((events & (poll_error | poll_hang_up | poll_priority)) != 0)
    woken += wake(host, d.queue[direction_error]);
  return woken;
}

void readiness_rules::note_received(descriptor& d, direction& q, std::size_t asked,
                                    std::size_t moved) const noexcept {
  if (d.reads_until_empty) {
    q.ready = readiness::known;
  } else {
    q.ready = readiness::perhaps;
    if (moved < asked) note_short_read(d, q);
    if (reports_urgent_data) ask_for_control(d, moved < asked);
  }
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
