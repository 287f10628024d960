// SPDX-License-Identifier: BSL-1.0
// A server of WebSocket and peers that speak it byte by byte, on one context.
#pragma once

#include <beck/websocket/accept.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "http/served.hpp"
#include "websocket/frames.hpp"

namespace beck::websocket::test {

using http::test::has;
using http::test::peer;
using http::test::served;

inline constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";

/// Returns a request for a connection, with more fields.
inline std::string upgrade_request(std::string_view more = {}, std::string_view path = "/") {
  return http::test::get(path,
                         "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
                             std::string(key) + "\r\n" + std::string(more));
}

/// Sends every message back, until the connection ends. Returns its end.
inline task<error_code> echo_all(stream& ws) {
  flat_buffer data;
  for (;;) {
    auto [ec, kind] = co_await ws.read(data);
    if (ec) co_return ec;
    auto sent = co_await ws.write(kind, data.data());
    if (sent.error()) co_return sent.error();
  }
}

/// A handler that echoes, and what it has seen.
struct echo_site {
  task<> operator()(http::request& q, http::response& r) const {
    auto accepted = co_await accept(q, r, accept_options{.limits = most});
    if (accepted.error()) co_return;
    stream ws = std::move(accepted).value();
    const error_code end = co_await echo_all(ws);
    CHECK(ws.error() == end);
    if (ends != nullptr) ends->push_back(end);
  }
  limits most;
  std::vector<error_code>* ends = nullptr;
};

/// Returns what the server has sent behind its head.
inline std::string frames_in(const peer& of) {
  const std::size_t end = of.received.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : of.received.substr(end + 4);
}
/// Returns the transcript of that.
inline std::string transcript_of(const peer& of) {
  frame_limits most;
  most.frame_bytes = most.message_bytes = 1 << 24;
  return transcript_of(frames_in(of), side::client, {}, most);
}
/// Sends a request and frames, and returns the transcript of what came until the end of the
/// connection.
inline std::string talk(served& s, const std::string& frames, std::size_t piece = 0) {
  peer& one = s.start(upgrade_request() + frames, piece);
  s.run_until([&] { return one.done; });
  CHECK(has(one.received, "HTTP/1.1 101 Switching Protocols\r\n"));
  return transcript_of(one);
}

}  // namespace beck::websocket::test
