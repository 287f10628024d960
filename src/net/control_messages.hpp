// SPDX-License-Identifier: BSL-1.0
// Finds a control message among those that arrived with a datagram or a receive (cmsg(3)). The
// receiver cannot know which of them come, nor in which order: options of the socket add more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>

namespace beck::detail {

/// The data of a control message: its offset among all control messages, and its length, which is 0
/// if there is no such message.
struct control_data {
  std::size_t at = 0;
  std::size_t bytes = 0;
};

/// Returns the data of the first message of that level and type in `bytes` bytes of control
/// messages.
inline control_data find_control(const void* all, std::size_t bytes, int level, int type) noexcept {
  std::size_t at = 0;
  while (at + sizeof(cmsghdr) <= bytes) {
    cmsghdr entry;
    std::memcpy(&entry, static_cast<const unsigned char*>(all) + at, sizeof entry);
    const std::size_t length = std::min<std::size_t>(entry.cmsg_len, bytes - at);
    if (length < CMSG_LEN(0)) break;
    if (entry.cmsg_level == level && entry.cmsg_type == type) {
      return {at + CMSG_LEN(0), length - CMSG_LEN(0)};
    }
    at += CMSG_ALIGN(length);
  }
  return {};
}

}  // namespace beck::detail
