// SPDX-License-Identifier: BSL-1.0
// The rules of readiness: when an operation is attempted, listed, armed or parked, and what the
// outcome of each attempt says about the next. A wrong attempt costs a system call, a missed one a
// visit to the kernel (docs/mechanisms.md; docs/kernel.md has what each outcome can mean).
#pragma once

#include <cstddef>

#include "io/op/descriptor.hpp"

namespace beck::detail {

class driver_host;

// --- what to do ----------------------------------------------------------------------------------

/// How an operation goes on that was not done at once.
enum class next_step : std::uint8_t {
  attempt,       ///< queue an attempt: something says that it will find data
  attempt_late,  ///< list it, and attempt it one turn later although nothing says so
  submit_late,   ///< list it, and give it to the kernel one turn later
  submit,        ///< give it to the kernel in the next visit
  await_event,   ///< park it until the driver reports its descriptor ready
  on_thread,     ///< have a thread of the blocking pool make its call
};

/// Returns whether a direct system call is likely to find something. After a read that filled its
/// buffer there is "perhaps" more: worth a try for everything but a read whose predictor expects
/// more from waiting one turn.
inline bool worth_attempting(const descriptor& d, const direction& q, op_kind kind) noexcept {
  if (q.ready != readiness::perhaps) return q.ready == readiness::known;
  return !is_read(kind) || !q.predictor.expects_data() || !is_watched(d);
}

/// Returns whether an attempt of `op`, the first of its direction, is known to be vain: the most
/// frequent start of all, a read where there is nothing.
inline bool is_vain(const io_op& op, const direction& q) noexcept {
  return op.kind == op_kind::receive && q.ready == readiness::no && op.length != 0;
}

/// Returns how `op`, the current one of its direction, goes on where the kernel reports readiness.
inline next_step step_by_readiness(const io_op& op, const direction& q) noexcept {
  if (is_file(op.kind)) return next_step::on_thread;
  if (is_read(op.kind) && q.predictor.expects_data() && q.ready != readiness::known)
    return next_step::attempt_late;
  return q.ready != readiness::no ? next_step::attempt : next_step::await_event;
}

/// Returns how `op`, which is no call on a file, goes on where a ring takes operations; `armed`: a
/// receive that the ring may have before there is data.
inline next_step step_on_ring(const io_op& op, const direction& q, bool armed) noexcept {
  if (op.kind == op_kind::raw) return next_step::submit;
  if (armed && q.ready != readiness::known) return next_step::submit_late;
  if (is_read(op.kind) && q.ready == readiness::perhaps && q.predictor.expects_data())
    return next_step::attempt_late;
  if (q.ready != readiness::no) return next_step::attempt;
  return direction_of(op.kind) == direction_in ? next_step::await_event : next_step::submit;
}

/// Returns whether `op` waits for a free descriptor or buffer: readiness must not wake it.
inline bool is_paused(const io_op& op) noexcept { return (op.flags & io_op::flag_exhausted) != 0; }

// --- what was learnt -----------------------------------------------------------------------------

/// Forgets everything: the descriptor has a new file.
inline void forget_readiness(direction& q) noexcept {
  q.ready = readiness::no;
  q.predictor = read_predictor();
  q.arming = arming_record();
}

/// Something says that an attempt will find data or an error, or it is made whatever is known.
inline void note_ready(direction& q) noexcept { q.ready = readiness::known; }

/// An attempt may find data.
inline void note_perhaps(direction& q) noexcept { q.ready = readiness::perhaps; }

/// An attempt found nothing (EAGAIN), or poll(2) has said so.
inline void note_not_ready(direction& q) noexcept { q.ready = readiness::no; }

/// What a loop and its driver add to the rules.
struct readiness_rules {
  /// Whether predictors learn; off for measuring what they give.
  bool learns = true;
  /// Whether events of a watched TCP socket say exactly when urgent data has come.
  bool urgent_data_is_told = true;

  /// A read found `moved` bytes where it asked for `asked`.
  void note_received(const descriptor& d, direction& q, std::size_t asked,
                     std::size_t moved) const noexcept;
  /// A read found less than it asked for, and the kernel did not say whether there is more.
  void note_short_read(const descriptor& d, direction& q) const noexcept;
  /// A ring received for a direction; `more`: it said that there was more.
  void note_completed_receive(const descriptor& d, direction& q, bool more) const noexcept;
};

/// Sets the readiness of `d` from poll(2)-style events and queues attempts of what was parked for
/// them. Runs no user code and does no I/O. Returns how many operations that were.
unsigned note_events(driver_host& host, descriptor& d, unsigned events) noexcept;

}  // namespace beck::detail
