// SPDX-License-Identifier: BSL-1.0
// local::datagram_protocol: UNIX domain datagrams, and connect_pair for them.
#pragma once

#include <beck/net/datagram_socket.hpp>
#include <beck/net/local_endpoint.hpp>

namespace beck {
namespace local {

/// Reliable and in order, within the host (unix(7)).
class datagram_protocol {
 public:
  using endpoint = basic_endpoint<datagram_protocol>;
  using socket = basic_datagram_socket<datagram_protocol>;

  /// As socket(2) takes them.
  static constexpr int family() noexcept { return 1; }
  static constexpr int type() noexcept { return 2; }
  static constexpr int protocol() noexcept { return 0; }

  friend constexpr bool operator==(const datagram_protocol&, const datagram_protocol&) noexcept {
    return true;
  }
};

}  // namespace local

/// Connects two closed sockets with each other (socketpair(2)). Found by ADL. Errors: already_open.
template <class Executor1, class Executor2>
void connect_pair(basic_datagram_socket<local::datagram_protocol, Executor1>& a,
                  basic_datagram_socket<local::datagram_protocol, Executor2>& b, error_code& ec) {
  using protocol = local::datagram_protocol;
  socket_calls::open_pair(*a.slot(), *b.slot(), protocol::family(), protocol::type(),
                          protocol::protocol(), ec);
}
template <class Executor1, class Executor2>
void connect_pair(basic_datagram_socket<local::datagram_protocol, Executor1>& a,
                  basic_datagram_socket<local::datagram_protocol, Executor2>& b) {
  error_code ec;
  connect_pair(a, b, ec);
  throw_if(ec, "connect_pair");
}

namespace local {
using beck::connect_pair;
}

}  // namespace beck
