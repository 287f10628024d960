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

namespace beck::http {

/// The limits of a server. Every setter returns the object. A value.
class limits {
 public:
  /// Makes the defaults.
  limits() noexcept {}

  /// Sets the bounds of heads. Requires as request_parser. Default: head_limits().
  limits& heads(const head_limits& bounds) noexcept {
    heads_ = bounds;
    return *this;
  }
  /// Sets the bounds of bodies. Default: body_limits().
  limits& bodies(const body_limits& bounds) noexcept {
    bodies_ = bounds;
    return *this;
  }
  /// Sets the greatest number of bytes of a body. Default: 1 MiB.
  limits& body_bytes(std::uint64_t most) noexcept {
    bodies_.body_bytes = most;
    return *this;
  }

  /// Sets the greatest number of connections of a context. At the limit the server closes an
  /// existing connection for a new one, in this order: one whose client has left while its request
  /// is handled; the oldest that has not yet sent a whole head; the one that has been idle longest,
  /// but for at least a second. If there is none, accepting pauses. 0 counts as 1. Three quarters
  /// of RLIMIT_NOFILE, read when serve() starts and divided among the contexts that serve, are a
  /// further limit. Default: 10,000.
  limits& connections(std::size_t most) noexcept {
    connections_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets the greatest number of connections of a context from one IPv4 address, or one IPv6 /64.
  /// Further ones are closed at once. Loopback addresses, UNIX sockets and the addresses of
  /// server::behind_proxy() have no limit. 0: no limit. Default: 256.
  limits& per_address(std::size_t most) noexcept {
    per_address_ = most;
    return *this;
  }
  /// Sets how long the handshake of a layer, such as TLS, may take. The connection is then closed.
  /// Default: 10 s.
  limits& handshake(duration most) noexcept {
    handshake_ = most;
    return *this;
  }
  /// Sets the greatest number of handshakes of layers that a context has under way. At the limit
  /// the oldest one is ended for a new one. 0 counts as 1. Default: 1,000.
  limits& handshakes(std::size_t most) noexcept {
    handshakes_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets how long a connection may be idle: before its first byte, and between two requests. The
  /// connection is then closed. Default: 75 s.
  limits& idle(duration most) noexcept {
    idle_ = most;
    return *this;
  }
  /// Sets how long a head may take from its first byte on. The server then answers 408. Default: 10
  /// s.
  limits& head(duration most) noexcept {
    head_ = most;
    return *this;
  }
  /// Sets the slowest average rate of a body, `bytes_per_second`, enforced once the server has
  /// waited for it for `grace`. The server then answers 408. 0: no limit. Default: 240 bytes a
  /// second, after 5 s.
  limits& body_rate(std::uint32_t bytes_per_second, duration grace) noexcept {
    body_rate_ = bytes_per_second;
    body_grace_ = grace;
    return *this;
  }
  /// Sets how long the server waits for the next byte of a body. It then answers 408. Default: 30
  /// s.
  limits& body_pause(duration most) noexcept {
    body_pause_ = most;
    return *this;
  }
  /// Sets how many bytes of a body the server reads and drops if the handler has not read them. If
  /// more are left when the head of the reply is written, or chunks whose end has not arrived, the
  /// reply says "Connection: close" and the connection ends after it. Default: 64 KiB.
  limits& unread_body(std::size_t most) noexcept {
    unread_body_ = most;
    return *this;
  }
  /// Sets how long a peer may take no byte of a reply. The connection is then cut. Default: 30 s.
  limits& reply(duration most) noexcept {
    reply_ = most;
    return *this;
  }
  /// Sets for how long and for how many bytes the server reads on after the last reply of a
  /// connection. Without that, a client that is still sending would lose the reply to a reset.
  /// Default: 2 s, 16 MiB.
  limits& linger(duration most, std::size_t bytes) noexcept {
    linger_ = most;
    linger_bytes_ = bytes;
    return *this;
  }

  const head_limits& heads() const noexcept { return heads_; }
  const body_limits& bodies() const noexcept { return bodies_; }
  std::size_t connections() const noexcept { return connections_; }
  std::size_t per_address() const noexcept { return per_address_; }
  duration handshake() const noexcept { return handshake_; }
  std::size_t handshakes() const noexcept { return handshakes_; }
  duration idle() const noexcept { return idle_; }
  duration head() const noexcept { return head_; }
  std::uint32_t body_rate() const noexcept { return body_rate_; }
  duration body_grace() const noexcept { return body_grace_; }
  duration body_pause() const noexcept { return body_pause_; }
  std::size_t unread_body() const noexcept { return unread_body_; }
  duration reply() const noexcept { return reply_; }
  duration linger() const noexcept { return linger_; }
  std::size_t linger_bytes() const noexcept { return linger_bytes_; }

 private:
  static constexpr long long second = 1'000'000'000;

  head_limits heads_;
  body_limits bodies_;
  std::size_t connections_ = 10'000;
  std::size_t per_address_ = 256;
  std::size_t handshakes_ = 1000;
  std::size_t unread_body_ = 65'536;
  std::size_t linger_bytes_ = 16'777'216;
  duration handshake_ = duration(10 * second);
  duration idle_ = duration(75 * second);
  duration head_ = duration(10 * second);
  duration body_grace_ = duration(5 * second);
  duration body_pause_ = duration(30 * second);
  duration reply_ = duration(30 * second);
  duration linger_ = duration(2 * second);
  std::uint32_t body_rate_ = 240;
};

}  // namespace beck::http
