// SPDX-License-Identifier: BSL-1.0
// A file descriptor as the loop sees it: its directions, and a generation that makes stale events
// harmless. Descriptors belong to their
// loop, are reused and never freed before it; only the runner touches the queues, and of a shared
// loop whoever has the descriptor's lock.
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

/// Where a slot is in the life of what is open in it; io/op/transitions.hpp has both tables.
enum class slot_state : std::uint8_t {
  closed,     ///< nothing is open
  open,       ///< it has a descriptor number
  detaching,  ///< a close or a release is on the stack, and sees for itself what comes back
  closing,    ///< close(2) waits for operations in the kernel
};

/// Whether a driver has events of a descriptor reported.
enum class watch_state : std::uint8_t {
  none,
  arming,      ///< it is about to ask
  watched,     ///< it has asked
  unwatching,  ///< it is about to ask for the end
};

/// The point in time at which what is under way on a descriptor has to end.
struct descriptor_expiry : timer_entry {
  descriptor* owner = nullptr;
};

struct alignas(64) descriptor {
  io_loop* loop = nullptr;
  any_io_executor executor;  ///< of the object; handlers that name none complete there
  int fd = -1;
  std::uint32_t index = 0;       ///< in the loop's table
  std::uint32_t generation = 0;  ///< counts the lives of this slot
  descriptor_nature nature = descriptor_nature::socket;
  direction queue[directions];
  /// An end, an error or urgent data was seen: a short read says nothing from then on, and after
  /// one that gave something the next is tried at once.
  bool reads_until_empty = false;
  /// connect(2) was called and its outcome is not known; also after that connect was cancelled.
  /// Relaxed: synchronous calls are made beside the loop's.
  std::atomic<bool> connecting{false};
  slot_state slot = slot_state::closed;
  watch_state watch = watch_state::none;
  bool expired = false;         ///< its time has passed: nothing starts until there is a new one
  bool may_be_opening = false;  ///< an async_open was made: only the runner knows how it is
  bool orphaned = false;        ///< its object is gone: the slot is free after the close
  bool leaves_child = false;    ///< the close keeps the handle of a child until that is collected
  bool user_non_blocking = false;      ///< synchronous calls give would_block instead of waiting
  std::uint32_t in_kernel = 0;         ///< operations that the kernel or a blocking thread has
  file_operation* files = nullptr;     ///< calls on it that run beside each other, newest first
  std::uint64_t position = 0;          ///< where the next file_in_order begins
  std::uint32_t memory_alignment = 0;  ///< of direct transfers; 0: it makes none
  std::uint32_t offset_alignment = 0;
  int sync_error = 0;          ///< of a sync that has failed: those after it fail too
  use_mark used;               ///< by the thread that is inside one of its object's functions
  descriptor* next = nullptr;  ///< free list, or one of the driver's lists
  loop_command close_order;    ///< carries a close to the runner
  spin_lock lock;              ///< of shared loops only; guards all of the above but `next`
  descriptor_expiry expiry;    ///< belongs to the loop's timers
};

/// Whether a close has begun: nothing starts any more.
inline bool is_closing(const descriptor& d) noexcept { return d.slot >= slot_state::detaching; }

/// Whether the kernel reports its events.
inline bool is_watched(const descriptor& d) noexcept { return d.watch >= watch_state::watched; }

inline bool is_socket(const descriptor& d) noexcept {
  return d.nature == descriptor_nature::socket || d.nature == descriptor_nature::tcp;
}

/// The result of an operation that was cancelled.
inline int cancelled_result_of(const io_op& op) noexcept {
  return (op.flags & io_op::flag_timed_out) != 0 ? timeout_result : cancelled_result;
}

/// The form in which the ring is asked for `op`: pipes and the like are polled before a write.
inline ring_form ring_form_of(const io_op& op) noexcept {
  const ring_form form = row_of(op.kind).ring;
  return form == ring_form::send && !is_socket(*op.target) ? ring_form::poll : form;
}

}  // namespace beck::detail
