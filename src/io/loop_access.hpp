// SPDX-License-Identifier: BSL-1.0
// From public objects to the loop behind their context.
#pragma once

#include <beck/io/io_context.hpp>

#include "io/io_loop.hpp"

namespace beck {

/// The loop of the io_context behind an executor. Throws io_error (invalid_argument) if there is
/// none.
io_loop& loop_of(const any_io_executor& executor);

/// The loop that runs an operation.
inline io_loop& loop_of(const io_op& op) noexcept {
  return op.kind == op_kind::wait_timer ? *op.timer->loop : *op.target->loop;
}

}  // namespace beck
