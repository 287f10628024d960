// SPDX-License-Identifier: BSL-1.0
// ip::icmp and raw sockets: datagram sockets whose messages have the headers of their protocol.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/ip.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/datagram_socket.hpp>

BECK_ASIO_BEGIN

/// A raw socket. Requires CAP_NET_RAW. A receive loses the rest of a long message without an error.
/// Source: raw(7).
template <class Protocol, class Executor = any_io_executor>
using basic_raw_socket = beck::basic_datagram_socket<Protocol, Executor>;

namespace ip {

/// ICMP over IPv4, or ICMPv6. Messages over IPv4 are received with the header of IP.
class icmp {
 public:
  /// The endpoint: an address; its port is 0.
  using endpoint = basic_endpoint<icmp>;
  /// The socket.
  using socket = basic_raw_socket<icmp>;
  /// The resolver.
#if defined(BECK_ASIO_OLD_NAMES)
  using resolver = query_resolver<icmp>;
#else
  using resolver = basic_resolver<icmp>;
#endif
  /// A receive loses the rest of a message that is longer than the buffers.
  static constexpr bool cuts_datagrams = true;

  /// Returns the protocol over IPv4.
  static constexpr icmp v4() noexcept { return icmp(2, 1); }
  /// Returns the protocol over IPv6.
  static constexpr icmp v6() noexcept { return icmp(10, 58); }

  /// Returns the address family, for socket(2).
  constexpr int family() const noexcept { return family_; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return 3; }
  /// Returns the protocol, for socket(2).
  constexpr int protocol() const noexcept { return protocol_; }

  friend constexpr bool operator==(const icmp& a, const icmp& b) noexcept = default;

 private:
  constexpr icmp(int family, int protocol) noexcept : family_(family), protocol_(protocol) {}

  int family_;
  int protocol_;
};

}  // namespace ip

BECK_ASIO_END
