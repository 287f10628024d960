// SPDX-License-Identifier: BSL-1.0
//
// One datagram a message.
#include "common/service_state.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace beck_apps {

void notify_manager(std::string_view message) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to = {};
  if (name == nullptr || std::strlen(name) >= sizeof to.sun_path) return;
  const std::size_t bytes = std::strlen(name);
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, name, bytes);
  if (name[0] == '@') to.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  static_cast<void>(::sendto(fd, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to),
                             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes)));
  ::close(fd);
}

}  // namespace beck_apps
