// SPDX-License-Identifier: BSL-1.0
//
// What the proxy does with sockets beyond relaying: it looks at the first bytes, and ends
// connections in two ways that a close() alone does not have.
#pragma once

#include <sys/socket.h>

#include <beck/base/buffer.hpp>
#include <beck/base/error.hpp>
#include <beck/coro/task.hpp>
#include <cstddef>
#include <string>

namespace beck_redis_proxy {

/// The most bytes that first_bytes() returns.
inline constexpr std::size_t first_bytes_most = 64;

/// Returns the bytes that a socket would receive first, and leaves them there; empty if there are
/// none, or behind its end.
template <class Socket>
std::string first_bytes(const Socket& socket) {
  char room[first_bytes_most];
  const auto bytes = ::recv(socket.native_handle(), room, sizeof room, MSG_PEEK | MSG_DONTWAIT);
  return {room, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

/// Lets the last bytes reach the client: a socket that is closed with unread bytes drops them.
template <class Socket>
beck::task<> read_to_the_end(Socket& client) {
  beck::error_code ignored;
  client.shutdown(Socket::shutdown_send, ignored);
  char room[4096];
  while (auto got = co_await client.async_read_some(beck::buffer(room))) {}
}

/// Closes so that the peer sees a reset; a UNIX socket has none.
template <class Socket>
void reset(Socket& socket) {
  beck::error_code ignored;
  socket.set_option(typename Socket::linger(true, 0), ignored);
  socket.close();
}

}  // namespace beck_redis_proxy
