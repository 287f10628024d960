// SPDX-License-Identifier: BSL-1.0
//
// The limits of a client: how many connections, how many waiting calls, how long each step may
// take, how much a server may send. docs/http-client.md has a table of them, with the errors.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/head.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::http {

/// The limits of a client. Every setter returns the object. A value. To limit the time of a whole
/// call, use beck::timeout().
class client_options {
 public:
  /// Makes the defaults.
  client_options() noexcept { bodies_.body_bytes = INT64_MAX; }

  /// Sets the greatest number of connections to an origin (scheme, host and port). 0 counts as 1.
  /// Default: 8.
  client_options& per_origin(std::size_t most) noexcept {
    per_origin_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets the greatest number of connections to all origins. At the limit the connection that has
  /// been idle longest is closed; if none is idle, calls wait. 0 counts as 1. Default: 256.
  client_options& connections(std::size_t most) noexcept {
    connections_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets the greatest number of calls that wait for a connection. Error beyond it:
  /// too_many_waiting. Default: 1,024.
  client_options& waiting(std::size_t most) noexcept {
    waiting_ = most;
    return *this;
  }
  /// Sets how long an idle connection is kept for further calls, or less if the server says so in
  /// Keep-Alive. Default: 15 s.
  client_options& idle(duration most) noexcept {
    idle_ = most;
    return *this;
  }

  /// Sets how long the lookup of a name and the connection may take. Error beyond it: connect_late.
  /// Default: 3 s.
  client_options& connect(duration most) noexcept {
    connect_ = most;
    return *this;
  }
  /// Sets how long the server may take no byte of a request. Error beyond it: send_late. Default:
  /// 30 s.
  client_options& send(duration most) noexcept {
    send_ = most;
    return *this;
  }
  /// Sets how long the head of the reply may take after the end of the request, with all 1xx
  /// replies before it. Error beyond it: head_late. Default: 60 s.
  client_options& head(duration most) noexcept {
    head_ = most;
    return *this;
  }
  /// Sets the slowest average rate of a body, `bytes_per_second`, enforced once reads have waited
  /// for it for `grace`. Error below it: body_late. 0: no limit, as for streams of rare events.
  /// Default: 240 bytes a second, after 5 s.
  client_options& body_rate(std::uint32_t bytes_per_second, duration grace) noexcept {
    body_rate_ = bytes_per_second;
    body_grace_ = grace;
    return *this;
  }
  /// Sets how long a read waits for the next byte of a body. Error beyond it: body_late. Default:
  /// 30 s.
  client_options& body_pause(duration most) noexcept {
    body_pause_ = most;
    return *this;
  }
  /// Sets how long a request with call::expect_continue() waits for "100 Continue" before it sends
  /// its body without it. Default: 1 s.
  client_options& continue_wait(duration most) noexcept {
    continue_wait_ = most;
    return *this;
  }

  /// Sets the bounds of heads. Requires as response_parser. Default: head_limits().
  client_options& heads(const head_limits& bounds) noexcept {
    heads_ = bounds;
    return *this;
  }
  /// Sets the greatest number of bytes of a body. Error beyond it: refusal::body_too_long. Default:
  /// none, as bodies are streams; async_read_all() has a bound of its own.
  client_options& body_bytes(std::uint64_t most) noexcept {
    bodies_.body_bytes = most;
    return *this;
  }
  /// Sets the bounds of bodies, except body_bytes(). Default: body_limits().
  client_options& bodies(const body_limits& bounds) noexcept {
    bodies_ = bounds;
    return *this;
  }
  /// Sets how many bytes of 1xx replies may precede a reply. Error beyond it: too_many_interim.
  /// Default: 65,536.
  client_options& interim_bytes(std::size_t most) noexcept {
    interim_bytes_ = most;
    return *this;
  }
  /// Sets how many redirects a call follows, at most 10. Error beyond it: too_many_redirects. 0:
  /// none, a redirect is the result. Default: 0.
  client_options& redirects(unsigned most) noexcept {
    redirects_ = most < 10 ? most : 10;
    return *this;
  }

  std::size_t per_origin() const noexcept { return per_origin_; }
  std::size_t connections() const noexcept { return connections_; }
  std::size_t waiting() const noexcept { return waiting_; }
  duration idle() const noexcept { return idle_; }
  duration connect() const noexcept { return connect_; }
  duration send() const noexcept { return send_; }
  duration head() const noexcept { return head_; }
  std::uint32_t body_rate() const noexcept { return body_rate_; }
  duration body_grace() const noexcept { return body_grace_; }
  duration body_pause() const noexcept { return body_pause_; }
  duration continue_wait() const noexcept { return continue_wait_; }
  const head_limits& heads() const noexcept { return heads_; }
  const body_limits& bodies() const noexcept { return bodies_; }
  std::uint64_t body_bytes() const noexcept { return bodies_.body_bytes; }
  std::size_t interim_bytes() const noexcept { return interim_bytes_; }
  unsigned redirects() const noexcept { return redirects_; }

 private:
  static constexpr long long second = 1'000'000'000;

  head_limits heads_;
  body_limits bodies_;
  std::size_t per_origin_ = 8;
  std::size_t connections_ = 256;
  std::size_t waiting_ = 1024;
  duration idle_ = duration(15 * second);
  duration connect_ = duration(3 * second);
  duration send_ = duration(30 * second);
  duration head_ = duration(60 * second);
  duration body_grace_ = duration(5 * second);
  duration body_pause_ = duration(30 * second);
  duration continue_wait_ = duration(1 * second);
  std::uint32_t body_rate_ = 240;
  std::size_t interim_bytes_ = 65'536;
  unsigned redirects_ = 0;
};

}  // namespace beck::http
