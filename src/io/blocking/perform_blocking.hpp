// SPDX-License-Identifier: BSL-1.0
// The call behind each kind of operation that may be performed by a thread of its own.
#pragma once

#include <cstddef>

#include <beck/detail/operation.hpp>

#include "io/system/system.hpp"

namespace beck::detail {

/// Value or -errno; may wait. Reads of `op` only what its request is, and writes nothing that the
/// runner looks at meanwhile (state, flags). Thread: any.
std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept;

}  // namespace beck::detail
