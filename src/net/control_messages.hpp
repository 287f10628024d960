// SPDX-License-Identifier: BSL-1.0
// Where a control message is among those that came beside some bytes (cmsg(3)). Whoever receives
// cannot tell which ones come, nor in what order: options of the socket ask for more of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>

namespace beck::detail {

/// The data of a control message: its offset in them all, and its length; 0: there is none.
struct control_data {
  std::size_t at = 0;
  std::size_t bytes = 0;
};

/// The first of that kind among `bytes` bytes of control messages.
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
