// SPDX-License-Identifier: BSL-1.0
// local::datagram_protocol: UNIX domain datagrams, and connect_pair for them.
#pragma once

#include <beck/net/datagram_socket.hpp>
#include <beck/net/local_endpoint.hpp>
#include <beck/net/local_pair.hpp>

namespace beck {
namespace local {

/// UNIX domain datagrams: reliable and in order, within the host (unix(7)).
class datagram_protocol {
 public:
  /// The endpoint: a path or an abstract name.
  using endpoint = basic_endpoint<datagram_protocol>;
  /// The socket.
  using socket = basic_datagram_socket<datagram_protocol>;

  /// Returns the address family, for socket(2).
  static constexpr int family() noexcept { return 1; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return 2; }
  /// Returns the protocol, for socket(2).
  static constexpr int protocol() noexcept { return 0; }

  friend constexpr bool operator==(const datagram_protocol&, const datagram_protocol&) noexcept {
    return true;
  }
};

}  // namespace local

}  // namespace beck
