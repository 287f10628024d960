// SPDX-License-Identifier: BSL-1.0
// The services of a context that a protocol needs, besides timers and streams: the time, random
// bytes, and its log. In a simulation they are those of the simulated world.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>

namespace beck {

class any_io_executor;

namespace functions {

/// Returns the time of the steady clock of `executor`'s context. On the thread that runs that
/// context it is the time at which the turn began, without a system call. Requires an executor of
/// an io_context or of a strand on one. Thread: any.
time_point now(const any_io_executor& executor) noexcept;

/// Fills `to` with random bytes that are fit for keys: the system's, or in a simulation those that
/// follow from its seed. Requires as now(). Thread: any; in a simulation that of the simulation.
/// Source: getrandom(2).
void random_bytes(const any_io_executor& executor, mutable_buffer to) noexcept;

/// Writes a line to the log of `executor`'s context: see io_context::on_log(). For failures that no
/// operation can report to its caller. Requires as now(). Thread: any.
void log_line(const any_io_executor& executor, const char* line) noexcept;

}  // namespace functions
using namespace beck::functions;

}  // namespace beck
