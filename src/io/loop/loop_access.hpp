// SPDX-License-Identifier: BSL-1.0
// Functions that find the loop behind an executor or an operation, and the check that no two
// threads are inside one object.
#pragma once

#include <atomic>
#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"

namespace beck::detail {

/// Returns the loop, exclusive or shared, that `executor` belongs to; nullptr if it is another kind
/// of executor.
io_loop* own_loop_of(const any_io_executor& executor) noexcept;

/// Returns the loop of the io_context that is the context of `executor`. Throws io_error
/// (invalid_argument) if its context is not an io_context.
io_loop& loop_of(const any_io_executor& executor);

/// Returns the loop that runs an operation. A timer wait stores its loop when it is started,
/// because its timer may be destroyed before the completion is delivered; descriptors stay
/// allocated.
/// Callable from every thread while `op` is under way, also while a splice changes the stream that
/// it waits for: both of its streams have the same loop.
inline io_loop& loop_of(const io_op& op) noexcept {
  io_op& shared = const_cast<io_op&>(op);
  const auto kind = std::atomic_ref(shared.kind).load(std::memory_order_relaxed);
  if (kind != op_kind::wait_timer)
    return *std::atomic_ref(shared.target).load(std::memory_order_relaxed)->loop;
  return op.address != nullptr ? *static_cast<io_loop*>(op.address) : *op.timer->loop;
}

// Properties of an operation that starting, awaiting and dumping it need: its name, its signal set,
// and whether another thread uses its object.

/// Returns the name of the function that started `op`, without "async_", such as "read_some".
const char* name_of(const io_op& op) noexcept;

/// Returns the signal set that `op` waits for. Requires that `op` is a signal_wait.
inline signal_state& set_of(const io_op& op) noexcept {
  return *static_cast<const signal_wait&>(op).set;
}

/// Marks the object of `op` as used by a function; does nothing with NDEBUG.
inline object_use use_for(io_op& op) noexcept {
  if (op.kind == op_kind::wait_signal) return use_of(set_of(op), "wait");
  return op.kind == op_kind::wait_timer ? use_of(*op.timer, "wait")
                                        : use_of(*op.target, name_of(op.kind));
}

/// Attempts `op` on a thread that does not run its loop exclusively. Returns false if it has to be
/// started, which is always so on an exclusive loop. Out of line: the usual path needs no registers
/// for it.
[[gnu::noinline]] inline bool attempt_off_runner(io_op& op) noexcept {
  io_loop& loop = loop_of(op);
  if (!loop.in_handler()) return false;
  const object_use inside = use_for(op);
  return loop.engine().attempt_in_handler(op);
}

}  // namespace beck::detail
