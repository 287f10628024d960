// SPDX-License-Identifier: BSL-1.0
//
// read and write as every engine without a queue wants them: interrupted and non-blocking
// descriptors looked after, short writes completed.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>

#include "engine.hpp"

namespace beck_copy {

/// Waits for a descriptor that somebody else has made non-blocking.
inline void wait_ready(int fd, short events) {
  pollfd one = {fd, events, 0};
  ::poll(&one, 1, -1);
}

/// One read at an offset of the copy, or where a stream stands; 0 at the end. Throws failure.
std::size_t read_some(const source& from, std::byte* to, std::size_t bytes, std::uint64_t offset);

/// Writes all, and counts what was written. Throws failure.
void write_all(transfer& work, const std::byte* data, std::size_t bytes, std::uint64_t offset);

}  // namespace beck_copy
