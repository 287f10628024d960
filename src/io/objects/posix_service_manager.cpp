// SPDX-License-Identifier: BSL-1.0
// One datagram for each message.
#include <beck/io/service_manager.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <beck/base/unique_fd.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/descriptor_number.hpp"

namespace beck {

void beck::functions::notify_service_manager(std::string_view message) noexcept {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to = {};
  if (name == nullptr || std::strlen(name) >= sizeof to.sun_path) return;
  const std::size_t bytes = std::strlen(name);
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, name, bytes);
  if (name[0] == '@') to.sun_path[0] = '\0';
  const unique_fd from(detail::behind_standard(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (from.get() < 0) return;
  static_cast<void>(::sendto(from.get(), message.data(), message.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes)));
}

}  // namespace beck
