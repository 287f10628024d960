// SPDX-License-Identifier: BSL-1.0
//
// The sockets of the benchmark udp.
#include "datagrams.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace bench {
namespace {

int bound_socket(sockaddr_in& name) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) fail_errno("socket");
  name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof name;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&name), bytes) != 0) fail_errno("bind");
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) fail_errno("getsockname");
  const int room = 1 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  return fd;
}

}  // namespace

datagrams::datagrams(meter& m) : meter_(m), outgoing_(size * burst), incoming_(incoming_size) {
  sockaddr_in a, b;
  sender_ = bound_socket(a);
  receiver_ = bound_socket(b);
  if (connect(sender_, reinterpret_cast<const sockaddr*>(&b), sizeof b) != 0 ||
      connect(receiver_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
    fail_errno("connect");
  }
}

}  // namespace bench
