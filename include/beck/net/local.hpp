// SPDX-License-Identifier: BSL-1.0
// local::stream_protocol: UNIX domain stream sockets, and connect_pair.
#pragma once

#include <beck/net/endpoint.hpp>
#include <beck/net/local_pair.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck {

template <class Protocol>
class basic_socket_iostream;  // of the facade of Asio: <asio/basic_socket_iostream.hpp>

namespace local {

/// UNIX domain stream sockets: reliable byte streams within the host (unix(7)).
class stream_protocol {
 public:
  /// The endpoint: a path or an abstract name.
  using endpoint = basic_endpoint<stream_protocol>;
  /// The socket.
  using socket = basic_stream_socket<stream_protocol>;
  /// The listening socket.
  using acceptor = basic_socket_acceptor<stream_protocol>;
  /// The stream of the standard library, which only the facade of Asio defines.
  using iostream = basic_socket_iostream<stream_protocol>;

  /// Returns the address family, for socket(2).
  static constexpr int family() noexcept { return 1; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return 1; }
  /// Returns the protocol, for socket(2).
  static constexpr int protocol() noexcept { return 0; }

  friend constexpr bool operator==(const stream_protocol&, const stream_protocol&) noexcept {
    return true;
  }
};

}  // namespace local

}  // namespace beck
