// SPDX-License-Identifier: BSL-1.0
// Writing to pipes without SIGPIPE: the form for kernels that have none, which tests reach here.
#pragma once

#include <cstddef>

namespace beck::detail {

struct io_vector;

/// writev(2) to a pipe that may have no readers. Linux before 6.18 cannot be told to send no
/// signal, so SIGPIPE is blocked in this thread meanwhile, and taken back if it came: two more
/// system calls for each write. The signal mask, a signal that was pending before and every other
/// thread stay as they were.
std::ptrdiff_t write_blocking_signal(int fd, const io_vector* parts, std::size_t count) noexcept;

}  // namespace beck::detail
