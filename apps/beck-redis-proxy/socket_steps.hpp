// SPDX-License-Identifier: BSL-1.0
//
// Steps of I/O that the kinds of session share: looking at the first bytes, limits of time, and the
// two ends of a connection that a close() alone does not have.
#pragma once

#include <sys/socket.h>

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/read_write.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace beck_redis_proxy {

/// How long a client may take to receive the last bytes.
inline constexpr beck::duration see_off_time = beck::duration(1'000'000'000);
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

/// As read_to_the_end(), for a second at most.
template <class Socket>
beck::task<> see_off(Socket& client) {
  auto reading = read_to_the_end(client);
  beck::ignore(co_await beck::timeout(std::move(reading), see_off_time));
}

/// Sends a text to a client that is not served, and lets it arrive, within a second.
template <class Socket>
beck::task<> refuse(Socket& client, std::string text) {
  const auto send = [](Socket& to, const std::string& bytes) -> beck::task<> {
    beck::ignore(co_await beck::async_write(to, beck::buffer(bytes)));
    co_await read_to_the_end(to);
  };
  auto sending = send(client, text);
  beck::ignore(co_await beck::timeout(std::move(sending), see_off_time));
}

/// Ends operations on a socket that wait longer than --idle from now on; zero: none.
template <class Socket>
void limit_silence(Socket& socket, beck::duration idle) {
  if (idle != beck::duration::zero()) socket.expires_after(idle);
}

/// Adds received bytes to an input.
inline void append(beck::flat_buffer& to, const beck::buffer_lease& received) {
  std::memcpy(to.prepare(received.size()).data(), received.data(), received.size());
  to.commit(received.size());
}

/// Closes so that the peer sees a reset; a UNIX socket has none.
template <class Socket>
void reset(Socket& socket) {
  beck::error_code ignored;
  socket.set_option(typename Socket::linger(true, 0), ignored);
  socket.close();
}

}  // namespace beck_redis_proxy
