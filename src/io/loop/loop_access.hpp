// SPDX-License-Identifier: BSL-1.0
// From public objects and operations to the loop behind their context, and the check that no two
// threads are inside one object.
#pragma once

#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"

namespace beck::detail {

/// The loop whose own executor that is, exclusive or shared; nullptr: another kind of executor.
io_loop* own_loop_of(const any_io_executor& executor) noexcept;

/// The loop of the io_context behind an executor. Throws io_error (invalid_argument) if there is
/// none.
io_loop& loop_of(const any_io_executor& executor);

/// The loop that runs an operation. A wait that was started keeps it, because its timer may go
/// before the end is delivered; descriptors stay.
inline io_loop& loop_of(const io_op& op) noexcept {
  if (op.kind != op_kind::wait_timer) return *op.target->loop;
  return op.address != nullptr ? *static_cast<io_loop*>(op.address) : *op.timer->loop;
}

// The questions that starting, awaiting and dumping an operation have in common: its name, its
// signal set, and whether another thread uses its object.

/// Returns the name of the function that started `op`, without "async_", such as "read_some".
const char* name_of(const io_op& op) noexcept;

inline signal_state& set_of(const io_op& op) noexcept {
  return *static_cast<const signal_wait&>(op).set;
}

/// A function of the object behind `op` is running; with NDEBUG nothing.
inline object_use use_for(io_op& op) noexcept {
  if (op.kind == op_kind::wait_signal) return use_of(set_of(op), "wait");
  return op.kind == op_kind::wait_timer ? use_of(*op.timer, "wait")
                                        : use_of(*op.target, name_of(op.kind));
}

/// Tries `op` from a thread that does not run its loop. Returns false if it has to be started: on
/// an exclusive loop always. Out of line: the usual way needs no registers for it.
[[gnu::noinline]] inline bool attempt_off_runner(io_op& op) noexcept {
  io_loop& loop = loop_of(op);
  if (!loop.in_handler()) return false;
  const object_use inside = use_for(op);
  return loop.attempt_in_handler(op);
}

}  // namespace beck::detail
