// SPDX-License-Identifier: BSL-1.0
// ip::tcp: the protocol and the names of its objects.
#pragma once

#include <beck/net/address.hpp>
#include <beck/net/endpoint.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck {

template <class Protocol>
class basic_socket_iostream;  // of the facade of Asio: <asio/basic_socket_iostream.hpp>

}  // namespace beck

namespace beck::ip {

template <class Protocol>
class basic_resolver;  // net/resolver.hpp

/// TCP over IPv4 or IPv6, with Asio's names.
class tcp : public detail::tcp_options {
 public:
  /// The endpoint: an address and a port.
  using endpoint = basic_endpoint<tcp>;
  /// The socket.
  using socket = basic_stream_socket<tcp>;
  /// The listening socket.
  using acceptor = basic_socket_acceptor<tcp>;
  /// The resolver (net/resolver.hpp).
  using resolver = basic_resolver<tcp>;
  /// The stream of the standard library, which only the facade of Asio defines.
  using iostream = basic_socket_iostream<tcp>;

  /// Returns the protocol over IPv4.
  static constexpr tcp v4() noexcept { return tcp(2); }
  /// Returns the protocol over IPv6.
  static constexpr tcp v6() noexcept { return tcp(10); }

  /// Returns the address family, for socket(2).
  constexpr int family() const noexcept { return family_; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return 1; }
  /// Returns the protocol, for socket(2).
  static constexpr int protocol() noexcept { return 6; }

  friend constexpr bool operator==(const tcp& a, const tcp& b) noexcept {
    return a.family_ == b.family_;  // the base, a list of names, has no comparison
  }

 private:
  template <class>
  friend class basic_endpoint;

  constexpr explicit tcp(int family) noexcept : family_(family) {}

  int family_;
};

}  // namespace beck::ip
