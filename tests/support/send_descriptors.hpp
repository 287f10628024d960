// SPDX-License-Identifier: BSL-1.0
// A peer without this library, which passes descriptors through a UNIX socket.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include <sys/socket.h>

#include <doctest/doctest.h>

namespace beck::test {
using namespace detail;

/// Sends `text` with `Count` copies of `fd`.
template <std::size_t Count>
void send_with_copies(int socket, const std::string& text, int fd) {
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(Count * sizeof(int))]{};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const entry = CMSG_FIRSTHDR(&message);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(Count * sizeof(int));
  for (std::size_t i = 0; i < Count; ++i)
    std::memcpy(CMSG_DATA(entry) + i * sizeof fd, &fd, sizeof fd);
  REQUIRE(::sendmsg(socket, &message, 0) == static_cast<ssize_t>(text.size()));
}

}  // namespace beck::test
