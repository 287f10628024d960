// SPDX-License-Identifier: BSL-1.0
// Sockets of the host: local::stream_protocol and datagram_protocol.
#pragma once

#include <sys/socket.h>

#include <beck/asio/basic_socket_iostream.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/local.hpp>
#include <beck/net/local_datagram.hpp>

BECK_ASIO_BEGIN

namespace local {

using beck::local::basic_endpoint;
using beck::local::connect_pair;
using beck::local::stream_protocol;

#if defined(BECK_ASIO_STRICT_DATAGRAMS)
using beck::local::datagram_protocol;
#else
/// UNIX domain datagrams, with beck's sockets. A receive loses the rest of a long one: see ip::udp.
class datagram_protocol : public beck::local::datagram_protocol {
 public:
  /// The endpoint: a path or an abstract name.
  using endpoint = basic_endpoint<datagram_protocol>;
  /// The socket.
  using socket = beck::basic_datagram_socket<datagram_protocol>;
  /// As that of ip::udp.
  static constexpr bool cuts_datagrams = true;
};
#endif

}  // namespace local

BECK_ASIO_END
