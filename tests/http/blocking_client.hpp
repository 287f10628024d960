// SPDX-License-Identifier: BSL-1.0
// A client with blocking sockets, for threads beside a server that has the other ones.
#pragma once

#include <beck/base/unique_fd.hpp>
#include <beck/http/server.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "http/served.hpp"

namespace beck::http::test {

inline const ip::tcp::endpoint any_port(ip::address_v4::loopback(), 0);

inline std::uint16_t port_of(const server& of) {
  while (of.endpoint().port() == 0) std::this_thread::yield();
  return of.endpoint().port();
}

/// Returns a socket that is connected to a port of this machine; an empty one if it is refused.
inline unique_fd connect_to(std::uint16_t port) {
  unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fd.reset();
  return fd;
}

inline bool send_to(const unique_fd& fd, const std::string& text) {
  return ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

/// Returns what comes until the end of the connection; "reset" if that is no regular one.
inline std::string read_to_end(const unique_fd& fd) {
  std::string received;
  char part[4096];
  for (;;) {
    const ssize_t n = ::recv(fd.get(), part, sizeof part, 0);
    if (n < 0) return "reset";
    if (n == 0) return received;
    received.append(part, static_cast<std::size_t>(n));
  }
}

/// Returns what a client gets; an empty text if it is refused.
inline std::string ask_port(std::uint16_t port, std::string_view path = "/blocking") {
  const unique_fd fd = connect_to(port);
  if (!fd || !send_to(fd, last_get(path))) return {};
  return read_to_end(fd);
}

}  // namespace beck::http::test
