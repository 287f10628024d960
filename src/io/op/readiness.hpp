// SPDX-License-Identifier: BSL-1.0
// The rules of readiness: when an operation is attempted, listed, armed or parked, and how the
// outcome of each attempt changes the expectations of the next. An attempt in vain costs a system
// call, a missing one an entry into the kernel (docs/mechanisms.md; docs/kernel.md lists the
// meanings of each outcome).
#pragma once

#include <cstddef>

#include <beck/detail/operation.hpp>
#include "io/op/descriptor.hpp"

namespace beck::detail {

class driver_host;
struct loop_core;

// --- the next step -------------------------------------------------------------------------------

/// The next step of an operation that was not done at once.
enum class next_step : std::uint8_t {
  attempt,       ///< queue an attempt, which will probably find data
  attempt_late,  ///< list it, and attempt it one poll later without an event
  submit_late,   ///< list it, and pass it to the kernel one poll later
  submit,        ///< pass it to the kernel in the next poll
  await_event,   ///< park it until the driver reports its descriptor ready
  on_thread,     ///< have a thread of the blocking pool make its call
};

/// Returns whether a direct system call is likely to find something. With readiness::perhaps it is,
/// except for a read that finds more one poll later.
inline bool worth_attempting(const direction& q, op_kind kind) noexcept {
  if (q.ready != readiness::perhaps) return q.ready == readiness::known;
  return !is_read(kind) || !q.predictor.prefers_late();
}

/// Returns whether `op` is a read that is best attempted one poll later, without an event.
inline bool worth_attempting_late(const io_op& op, const direction& q) noexcept {
  if (!is_read(op.kind) || q.ready == readiness::known) return false;
  return q.ready == readiness::perhaps ? q.predictor.prefers_late() : q.predictor.expects_data();
}

/// Returns whether an attempt of `op`, the first of its direction, is known to make no call. Most
/// reads start so.
inline bool is_vain(const io_op& op, const direction& q) noexcept {
  const bool plain = op.kind == op_kind::receive || op.kind == op_kind::send;
  return plain && op.length != 0 && !worth_attempting(q, op.kind);
}

/// The most bytes of a send that is batched with others.
inline constexpr std::size_t batched_send_bytes_max = 4096;

/// Returns whether `op` is a send that may wait for the next poll: it is small, and nothing says
/// that its socket has no room.
inline bool may_be_batched(const io_op& op, const direction& q) noexcept {
  return op.kind == op_kind::send && q.ready != readiness::no && op.length != 0 &&
         op.length <= batched_send_bytes_max && is_socket(*op.target);
}

/// Returns the next step of `op`, the current operation of its direction, on a driver whose kernel
/// reports readiness.
inline next_step step_by_readiness(const io_op& op, const direction& q) noexcept {
  if (is_file(op.kind)) return next_step::on_thread;
  if (worth_attempting_late(op, q)) return next_step::attempt_late;
  return q.ready != readiness::no ? next_step::attempt : next_step::await_event;
}

/// Returns the next step of `op`, which is no call on a file, on a ring. `armed`: it is a receive
/// that the ring may have before there is data.
inline next_step step_on_ring(const io_op& op, const direction& q, bool armed) noexcept {
  if (op.kind == op_kind::raw) return next_step::submit;
  if (armed && q.ready != readiness::known) return next_step::submit_late;
  if (worth_attempting_late(op, q)) return next_step::attempt_late;
  if (q.ready != readiness::no) return next_step::attempt;
  return direction_of(op.kind) == direction_in ? next_step::await_event : next_step::submit;
}

/// Returns whether `op` waits for a free descriptor or buffer: readiness must not wake it.
inline bool is_paused(const io_op& op) noexcept { return (op.flags & io_op::flag_exhausted) != 0; }

// --- learning ------------------------------------------------------------------------------------

/// Forgets everything about a direction whose descriptor has a new file.
inline void forget_readiness(direction& q) noexcept {
  q.ready = readiness::no;
  q.predictor = read_predictor();
  q.arming = arming_record();
  q.peer_finished = false;
}

/// Notes that an attempt will find data or an error, or is to be made whatever is known.
inline void note_ready(direction& q) noexcept { q.ready = readiness::known; }

/// Notes that an attempt may find data.
inline void note_perhaps(direction& q) noexcept { q.ready = readiness::perhaps; }

/// Notes that an attempt has found nothing (EAGAIN), or that poll(2) has reported no event.
inline void note_not_ready(direction& q) noexcept { q.ready = readiness::no; }

/// The rules that depend on the loop and its driver.
struct readiness_rules {
  /// Whether predictors learn; off to measure their gain.
  bool learns = true;
  /// Whether events of a watched socket say exactly when urgent data has arrived, unless another
  /// call takes it before.
  bool reports_urgent_data = true;

  /// Notes that a read has received `moved` of the `asked` bytes.
  void note_received(descriptor& d, direction& q, std::size_t asked,
                     std::size_t moved) const noexcept;
  /// Notes that a read has received fewer bytes than it asked for, and that the kernel has not said
  /// whether there are more.
  void note_short_read(const descriptor& d, direction& q) const noexcept;
  /// Notes that a ring has completed a receive; `more`: the kernel said that there was more data.
  void note_completed_receive(const descriptor& d, direction& q, bool more) const noexcept;
};

/// Has reads of a UNIX stream ask for control data after a short one, until several in a row have
/// filled their buffers. Dropped data stays known.
inline void ask_for_control(descriptor& d, bool is_short) noexcept {
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

inline void readiness_rules::note_received(descriptor& d, direction& q, std::size_t asked,
                                           std::size_t moved) const noexcept {
  if (d.reads_until_empty) [[unlikely]] {
    q.ready = readiness::known;
    return;
  }
  q.ready = readiness::perhaps;
  if (moved < asked) note_short_read(d, q);
  if (reports_urgent_data) ask_for_control(d, moved < asked);
}

/// Sets the readiness of `d` from poll(2)-style events and queues attempts of the operations that
/// were parked for them. Returns their number. Runs no user code and does no I/O.
unsigned note_events(driver_host& host, const loop_core& core, descriptor& d,
                     unsigned events) noexcept;

// --- operations that wait one poll ---------------------------------------------------------------

/// Operations that wait one poll before they are attempted or submitted. A listed operation that is
/// cancelled stays until its list is taken; then the flag ends it.
class lazy_list {
 public:
  bool empty() const noexcept { return list_.empty(); }
  void add(io_op& op) noexcept { list_.push(&op); }
  /// Calls `action(io_op&)` for each and empties the list; the action may add to other lists.
  template <class Action>
  void take(Action&& action) {
    entry_queue taken = list_;
    list_ = entry_queue();
    while (!taken.empty()) action(*static_cast<io_op*>(taken.pop()));
  }
  /// Removes `op`. Returns false if it is not in this list. Visits every entry.
  bool remove(io_op& op) noexcept {
    bool found = false;
    entry_queue kept;
    while (!list_.empty()) {
      queue_entry* entry = list_.pop();
      if (entry == &op) {
        found = true;
      } else {
        kept.push(entry);
      }
    }
    list_ = kept;
    return found;
  }
  /// Appends all operations of `next`, which is empty afterwards.
  void rotate(lazy_list& next) noexcept { list_.append(next.list_); }

 private:
  entry_queue list_;
};

}  // namespace beck::detail
