// SPDX-License-Identifier: BSL-1.0
//
// The limits of a server: how much a peer may send, how slowly, and how many connections there may
// be. docs/http.md has a table of them, with the result of passing each.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/head.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beck::http {

/// The limits of a server:
///   http::server server(handler, {.bodies = {.body_bytes = 4096}, .connections = 100});
struct limits {
  /// The bounds of heads. Requires as request_parser.
  head_limits heads = {};
  /// The bounds of bodies: 1 MiB, unless the route has a limit of its own.
  body_limits bodies = {};

  /// The greatest number of connections of a context. At the limit the server closes an existing
  /// connection for a new one, in this order: one whose client has left while its request is
  /// handled; the oldest that has not yet sent a whole head; the one that has been idle longest,
  /// but for at least a second. If there is none, accepting pauses. 0 counts as 1. Three quarters
  /// of RLIMIT_NOFILE, read when serve() starts and divided among the contexts that serve, are a
  /// further limit.
  std::size_t connections = 10'000;
  /// The greatest number of connections of a context from one IPv4 address, or one IPv6 /64.
  /// Further ones are closed at once. Loopback addresses, UNIX sockets and the addresses of
  /// server::behind_proxy() have no limit. 0: no limit.
  std::size_t per_address = 256;
  /// The greatest number of handshakes of layers that a context has under way. At the limit the
  /// oldest one is ended for a new one. 0 counts as 1.
  std::size_t handshakes = 1'000;

  /// How long the handshake of a layer, such as TLS, may take: 10 s. The connection is then closed.
  duration handshake_timeout = duration::seconds(10);
  /// How long a connection may be idle, before its first byte and between two requests: 75 s. The
  /// connection is then closed.
  duration idle_timeout = duration::seconds(75);
  /// How long a head may take from its first byte on: 10 s. The server then answers 408.
  duration head_timeout = duration::seconds(10);
  /// The slowest average rate of a body, in bytes a second, enforced once the server has waited for
  /// it for `body_grace`. The server then answers 408. 0: no limit.
  std::uint32_t body_rate = 240;
  /// How long the server waits for a body in all before `body_rate` is enforced: 5 s.
  duration body_grace = duration::seconds(5);
  /// How long the server waits for the next byte of a body: 30 s. It then answers 408.
  duration body_timeout = duration::seconds(30);
  /// How many bytes of a body the server reads and drops if the handler has not read them, 64 KiB.
  /// If more are left when the head of the response is written, or chunks whose end has not
  /// arrived, the response says "Connection: close" and the connection ends after it.
  std::size_t unread_body_bytes = 65'536;
  /// How long a peer may take no byte of a response: 30 s. The connection is then cut.
  duration send_timeout = duration::seconds(30);
  /// For how long the server reads on after the last response of a connection: 2 s. Without that, a
  /// client that is still sending would lose the response to a reset.
  duration linger_timeout = duration::seconds(2);
  /// How many bytes the server reads on after the last response of a connection, 16 MiB.
  std::size_t linger_bytes = 16'777'216;
};
static_assert(std::is_trivially_destructible_v<limits>);

}  // namespace beck::http
