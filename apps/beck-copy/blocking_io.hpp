// SPDX-License-Identifier: BSL-1.0
//
// read and write for every engine without a queue: they handle interrupted calls and non-blocking
// descriptors, and complete short writes.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>

#include "engine.hpp"

namespace beck_copy {

/// Waits for a descriptor that another process has made non-blocking.
inline void wait_ready(int fd, short events) {
  pollfd one = {fd, events, 0};
  ::poll(&one, 1, -1);
}

/// Reads once, at `offset` of the copy, or at the position of a stream. Returns the number of
/// bytes; 0 at the end. Throws failure.
std::size_t read_some(const source& from, std::byte* to, std::size_t bytes, std::uint64_t offset);

/// Writes all `bytes` bytes, and counts them as they are written. Throws failure.
void write_all(transfer& work, const std::byte* data, std::size_t bytes, std::uint64_t offset);

}  // namespace beck_copy
