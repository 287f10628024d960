// SPDX-License-Identifier: BSL-1.0
//
// The connection of the peers of redis that bring none of their own.
#include "redis_calls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace bench {

redis_calls::redis_calls(meter& m, std::size_t callers) : meter_(m), callers_(callers) {
  require(options().port != 0 || is_local(), "--port or --path is missing: that of a server");
}

int connect_to_redis(const redis_calls& calls) {
  const int fd = socket(calls.is_local() ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail_errno("socket");
  int result = 0;
  if (calls.is_local()) {
    sockaddr_un server{};
    server.sun_family = AF_UNIX;
    const std::string& path = calls.options().path;
    require(path.size() < sizeof server.sun_path, "the path of a UNIX socket is too long");
    std::memcpy(server.sun_path, path.c_str(), path.size() + 1);
    result = connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server);
  } else {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons(static_cast<in_port_t>(calls.options().port));
    result = connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server);
  }
  if (result != 0) fail_errno("connect");
  return fd;
}

}  // namespace bench
