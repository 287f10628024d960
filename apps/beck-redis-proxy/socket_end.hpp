// SPDX-License-Identifier: BSL-1.0
//
// The two ways to end a connection that a close() alone does not have.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/error.hpp>
#include <beck/coro/task.hpp>

namespace beck_redis_proxy {

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
