// SPDX-License-Identifier: BSL-1.0
// From public objects to the loop behind their context.
#pragma once

#include <beck/io/io_context.hpp>

#include "io/loop/io_loop.hpp"

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

}  // namespace beck::detail
