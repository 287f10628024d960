// SPDX-License-Identifier: BSL-1.0
// The last word on an exception that nobody takes.
#pragma once

#include <exception>
#include <source_location>

namespace beck::detail {

/// Prints what escaped a detached task (and where that was spawned), or a handler of a pool, to
/// stderr and calls std::terminate.
[[noreturn]] void terminate_unhandled(std::exception_ptr error,
                                      const std::source_location* spawned_at = nullptr) noexcept;

}  // namespace beck::detail
