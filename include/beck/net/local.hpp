// SPDX-License-Identifier: BSL-1.0
// local::stream_protocol: UNIX domain stream sockets, and connect_pair.
#pragma once

#include <beck/net/endpoint.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck {
namespace local {

class stream_protocol {
 public:
  using endpoint = basic_endpoint<stream_protocol>;
  using socket = basic_stream_socket<stream_protocol>;
  using acceptor = basic_socket_acceptor<stream_protocol>;

  /// As socket(2) takes them.
  static constexpr int family() noexcept { return 1; }
  static constexpr int type() noexcept { return 1; }
  static constexpr int protocol() noexcept { return 0; }

  friend constexpr bool operator==(const stream_protocol&, const stream_protocol&) noexcept {
    return true;
  }
};

}  // namespace local

/// Connects two closed sockets with each other (socketpair(2)). Found by ADL. Errors: already_open.
template <class Executor1, class Executor2>
void connect_pair(basic_stream_socket<local::stream_protocol, Executor1>& a,
                  basic_stream_socket<local::stream_protocol, Executor2>& b, error_code& ec) {
  using protocol = local::stream_protocol;
  socket_calls::open_pair(*a.slot(), *b.slot(), protocol::family(), protocol::type(),
                          protocol::protocol(), ec);
}
template <class Executor1, class Executor2>
void connect_pair(basic_stream_socket<local::stream_protocol, Executor1>& a,
                  basic_stream_socket<local::stream_protocol, Executor2>& b) {
  error_code ec;
  connect_pair(a, b, ec);
  throw_if(ec, "connect_pair");
}

namespace local {
using beck::connect_pair;
}

}  // namespace beck
