// SPDX-License-Identifier: BSL-1.0
// The eventfd that ends a loop's wait from another thread. It is watched edge-triggered and never
// read while the loop lives, so one wake-up is one write and nothing else.
#pragma once

#include <cstdint>

namespace beck::detail {

/// Makes a non-blocking, close-on-exec eventfd. Returns it, or -errno.
int wake_open() noexcept;
/// Adds 1 to the eventfd. Any thread.
void wake_write(int fd) noexcept;
/// Waits until `total` writes have been made since wake_open(), and synchronises with them.
void wake_drain(int fd, std::uint64_t total) noexcept;

}  // namespace beck::detail
