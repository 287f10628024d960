// SPDX-License-Identifier: BSL-1.0
// A file descriptor as the loop sees it: its directions, and a generation number that makes stale
// events harmless. Descriptors belong to their loop, are reused, and are freed with it. Only the
// runner touches the queues; on a shared loop, the thread that holds the descriptor's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <beck/detail/loop_command.hpp>
#include <beck/detail/operation.hpp>
#include <beck/detail/timer_entry.hpp>

#include "base/spin_lock.hpp"
#include "base/use_check.hpp"
#include "io/op/direction.hpp"
#include "io/op/op_table.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

class io_loop;

struct descriptor;
class file_operation;

/// The state of a slot. io/op/transitions.hpp has the tables of this enumeration and the next.
enum class slot_state : std::uint8_t {
  closed,     ///< nothing is open
  open,       ///< it has a descriptor number
  detaching,  ///< a close or a release is under way, and handles returning operations itself
  closing,    ///< close(2) waits for operations in the kernel
};

/// The state of the kernel's event reports for a descriptor.
enum class watch_state : std::uint8_t {
  none,
  arming,      ///< the driver is about to ask for events
  watched,     ///< the kernel reports events
  unwatching,  ///< the driver is about to ask for their end
};

/// The state of control data in a UNIX stream: descriptors or credentials, whose messages end a
/// receive early. Only recvmsg(2) reports them, and it costs more than recv(2).
enum class control_state : std::uint8_t {
  not_asked,  ///< reads fill their buffers: a short one proves nothing
  none,       ///< reads call recvmsg, and none has come: a short one has emptied the stream
  dropped,    ///< some has come: a short read proves nothing any more
};

/// The deadline of the operations on a descriptor.
struct descriptor_expiry : timer_entry {
  descriptor* owner = nullptr;
};

/// Bytes of a file that were in memory, and the time when that was found out.
struct resident_range {
  std::uint64_t begin = 0;
  std::uint32_t bytes = 0;
  std::uint32_t since_ms = 0;  ///< by the loop's clock, modulo 2^32
};

struct alignas(64) descriptor {
  io_loop* loop = nullptr;
  any_io_executor executor;  ///< of the object; the default of its handlers
  int fd = -1;
  std::uint32_t index = 0;       ///< in the loop's table
  std::uint32_t generation = 0;  ///< counts the lives of this slot
  descriptor_nature nature = descriptor_nature::socket;
  bool appends = false;  ///< of a file: writes go to its end
  bool at_end = false;   ///< of a file: the next call in order begins at the end, not at `position`
  direction queue[directions];
  /// An end, an error or urgent data was reported. From then on a short read does not mean that
  /// there is no more, and a read that has found something is followed by an attempt.
  bool reads_until_empty = false;
  /// Of a UNIX stream. Relaxed: synchronous calls are made concurrently with the loop's.
  std::atomic<control_state> control{control_state::not_asked};
  std::uint8_t full_reads = 0;  ///< of a UNIX stream: reads that filled their buffers, in a row
  /// connect(2) was called and its outcome is not known, even if its operation was cancelled.
  /// Relaxed: synchronous calls are made concurrently with the loop's.
  std::atomic<bool> connecting{false};
  slot_state slot = slot_state::closed;
  watch_state watch = watch_state::none;
  bool watches_room = false;  ///< epoll reports room for writes, too
  bool expired = false;       ///< its deadline has passed: operations fail until it has a new one
  /// async_open was called: only the runner knows whether `fd` is set
  bool may_be_opening = false;
  bool orphaned = false;  ///< its object is gone: the close frees the slot
  /// the close keeps the handle of a child process until that was waited for
  bool leaves_child = false;
  bool user_non_blocking = false;      ///< synchronous calls return would_block and do not wait
  std::uint32_t in_kernel = 0;         ///< operations that the kernel or a blocking thread holds
  file_operation* files = nullptr;     ///< concurrent calls on it, newest first
  std::uint64_t position = 0;          ///< where the next file_in_order begins
  std::uint32_t memory_alignment = 0;  ///< of direct transfers; 0: it makes none
  std::uint32_t offset_alignment = 0;
  int sync_error = 0;          ///< the error of a sync, with which later syncs fail too
  resident_range resident;     ///< of a file on an exclusive loop: for transmissions
  use_mark used;               ///< marks the thread inside a function of its object
  descriptor* next = nullptr;  ///< free list, or one of the driver's lists
  loop_command close_order;    ///< carries a close to the runner
  spin_lock lock;              ///< used by shared loops; guards all of the above but `next`
  descriptor_expiry expiry;    ///< belongs to the loop's timers
};

static_assert(sizeof(descriptor) <= 320, "each connection has one: five cache lines");

/// Returns whether a close or a release has begun: no operation starts any more.
inline bool is_closing(const descriptor& d) noexcept { return d.slot >= slot_state::detaching; }

/// Returns whether the kernel reports its events.
inline bool is_watched(const descriptor& d) noexcept { return d.watch >= watch_state::watched; }

inline bool is_socket(const descriptor& d) noexcept { return d.nature < descriptor_nature::pipe; }

/// Returns whether a send of `d` is under way, which flush_sends() may finish.
inline bool is_sending(const descriptor& d) noexcept {
  const io_op* const op = d.queue[direction_out].current;
  return op != nullptr && op->kind == op_kind::send &&
         (op->state == op_state::listed || op->state == op_state::in_kernel);
}

/// Returns the result of an operation that was cancelled.
inline int cancelled_result_of(const io_op& op) noexcept {
  return (op.flags & io_op::flag_timed_out) != 0 ? timeout_result : cancelled_result;
}

/// Returns the form of the ring entry for `op`: pipes and the like are polled before a write.
inline ring_form ring_form_of(const io_op& op) noexcept {
  const ring_form form = row_of(op.kind).ring;
  return form == ring_form::send && !is_socket(*op.target) ? ring_form::poll : form;
}

}  // namespace beck::detail
