// SPDX-License-Identifier: BSL-1.0
// ip::udp, with its resolver. A datagram that is longer than the buffers is cut without an error,
// as in Asio; with the macro BECK_ASIO_STRICT_DATAGRAMS it is error::message_size, as in beck.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/ip.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/udp.hpp>

BECK_ASIO_BEGIN

namespace ip {

/// UDP over IPv4 or IPv6, with beck's sockets.
class udp : public beck::detail::udp_options {
 public:
  /// The endpoint: an address and a port.
  using endpoint = basic_endpoint<udp>;
  /// The socket.
  using socket = beck::basic_datagram_socket<udp>;
  /// The resolver.
#if defined(BECK_ASIO_OLD_NAMES)
  using resolver = query_resolver<udp>;
#else
  using resolver = basic_resolver<udp>;
#endif
  /// Whether a receive loses the rest of a datagram that is longer than the buffers.
#if defined(BECK_ASIO_STRICT_DATAGRAMS)
  static constexpr bool cuts_datagrams = false;
#else
  static constexpr bool cuts_datagrams = true;
#endif

  /// Returns the protocol over IPv4.
  static constexpr udp v4() noexcept { return udp(beck::ip::udp::v4().family()); }
  /// Returns the protocol over IPv6.
  static constexpr udp v6() noexcept { return udp(beck::ip::udp::v6().family()); }

  /// Returns the address family, for socket(2).
  constexpr int family() const noexcept { return family_; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return beck::ip::udp::type(); }
  /// Returns the protocol, for socket(2).
  static constexpr int protocol() noexcept { return beck::ip::udp::protocol(); }

  friend constexpr bool operator==(const udp& a, const udp& b) noexcept {
    return a.family_ == b.family_;
  }

 private:
  constexpr explicit udp(int family) noexcept : family_(family) {}

  int family_;
};

}  // namespace ip

BECK_ASIO_END
