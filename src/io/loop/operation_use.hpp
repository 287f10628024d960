// SPDX-License-Identifier: BSL-1.0
// The questions that starting, awaiting and dumping an operation have in common: its name, its
// signal set, and whether another thread uses its object.
#pragma once

#include <beck/detail/operation.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/loop/signal_state.hpp"

namespace beck::detail {

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
  if (!loop.is_shared()) return false;
  const object_use inside = use_for(op);
  return loop.attempt_inline_shared(op);
}

}  // namespace beck::detail
