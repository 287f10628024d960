// SPDX-License-Identifier: BSL-1.0
// Tells a process from its parent without a system call: a loop that was inherited by fork(2)
// shares its ring or its epoll instance with the parent and must not use it (U16).
#pragma once

namespace beck {

/// How many forks lie between this process and the one that first asked. Any thread.
unsigned fork_count() noexcept;

}  // namespace beck
