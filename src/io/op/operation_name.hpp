// SPDX-License-Identifier: BSL-1.0
// What an operation is called in exceptions and in dumps.
#pragma once

#include <beck/io/operation.hpp>

namespace beck {

/// Returns the name of the function that started `op`, without "async_", such as "read_some".
const char* name_of(const io_op& op) noexcept;

}  // namespace beck
