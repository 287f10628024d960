// SPDX-License-Identifier: BSL-1.0
// ip::udp: the protocol and the names of its objects.
#pragma once

#include <beck/net/address.hpp>
#include <beck/net/datagram_socket.hpp>
#include <beck/net/ip_endpoint.hpp>

namespace beck::ip {

template <class Protocol>
class basic_resolver;  // net/resolver.hpp

/// UDP over IPv4 or IPv6, with Asio's names.
class udp : public detail::udp_options {
 public:
  /// The endpoint: an address and a port.
  using endpoint = basic_endpoint<udp>;
  /// The socket.
  using socket = basic_datagram_socket<udp>;
  /// The resolver (net/resolver.hpp).
  using resolver = basic_resolver<udp>;
  /// Several datagrams that are received together (net/datagram_batch.hpp).
  template <std::size_t Capacity>
  using receive_batch = beck::receive_batch<udp, Capacity>;
  /// Several datagrams that are sent together (net/datagram_batch.hpp).
  template <std::size_t Capacity>
  using send_batch = beck::send_batch<udp, Capacity>;

  /// Returns the protocol over IPv4.
  static constexpr udp v4() noexcept { return udp(2); }
  /// Returns the protocol over IPv6.
  static constexpr udp v6() noexcept { return udp(10); }

  /// Returns the address family, for socket(2).
  constexpr int family() const noexcept { return family_; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return 2; }
  /// Returns the protocol, for socket(2).
  static constexpr int protocol() noexcept { return 17; }

  friend constexpr bool operator==(const udp& a, const udp& b) noexcept {
    return a.family_ == b.family_;  // the base, a list of names, has no comparison
  }

 private:
  template <class>
  friend class basic_endpoint;

  constexpr explicit udp(int family) noexcept : family_(family) {}

  int family_;
};

}  // namespace beck::ip
