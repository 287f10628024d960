// SPDX-License-Identifier: BSL-1.0
// Connected sockets for cases that are about something else.
#pragma once

#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <doctest/doctest.h>

#include "support/outcome.hpp"

namespace beck::test {
using namespace detail;

inline ip::tcp::endpoint loopback_v4(ip::port_type port = 0) {
  return {ip::address_v4::loopback(), port};
}
inline ip::tcp::endpoint loopback_v6(ip::port_type port = 0) {
  return {ip::address_v6::loopback(), port};
}

/// Two ends of a TCP connection over the loopback.
struct tcp_connection {
  explicit tcp_connection(io_context& context) : tcp_connection(context, loopback_v4()) {}
  tcp_connection(io_context& context, const ip::tcp::endpoint& where)
      : client(context), server(context) {
    ip::tcp::acceptor acceptor(context, where);
    outcome connected;
    outcome accepted;
    acceptor.async_accept(server, note(accepted));
    client.async_connect(acceptor.local_endpoint(), note(connected));
    run_all(context);
    REQUIRE(connected.ok());
    REQUIRE(accepted.ok());
    context.restart();
  }

  ip::tcp::socket client;
  ip::tcp::socket server;
};

/// Two ends of a UNIX stream.
struct local_connection {
  explicit local_connection(io_context& context) : a(context), b(context) { connect_pair(a, b); }

  local::stream_protocol::socket a;
  local::stream_protocol::socket b;
};

/// Makes `from` write until neither the operating system nor the peer takes more. Returns the
/// number of bytes taken.
template <class Socket>
std::size_t fill(Socket& from) {
  static const char zeros[65536] = {};
  from.non_blocking(true);
  std::size_t total = 0;
  for (error_code ec; !ec;) total += from.write_some(buffer(zeros), ec);
  from.non_blocking(false);
  return total;
}

/// Lets sent bytes arrive, or as many of them as the receiver has room for. Does nothing on
/// loopback and UNIX sockets of the kernel, which deliver at once; in a simulation bytes take time.
inline void let_arrive(io_context& context) {
  if (context.backend_in_use() == backend::sim) tick(context, duration(1'000'000'000));
}

/// Reads the bytes that have arrived, up to the first error, which is returned.
template <class Socket>
error_code drain(io_context& context, Socket& from, std::size_t& bytes) {
  let_arrive(context);
  static char sink[65536];
  from.non_blocking(true);
  error_code ec;
  while (!ec) {
    bytes += from.read_some(buffer(sink), ec);
    if (ec == error::would_block && context.backend_in_use() == backend::sim) {
      let_arrive(context);  // lets the bytes arrive that had no room before
      const std::size_t more = from.read_some(buffer(sink), ec);
      bytes += more;
    }
  }
  from.non_blocking(false);
  return ec;
}

}  // namespace beck::test
