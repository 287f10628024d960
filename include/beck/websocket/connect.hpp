// SPDX-License-Identifier: BSL-1.0
//
// The client's end of a WebSocket connection, over the connector, the pool and the limits of an
// HTTP client.
#pragma once

#include <beck/http/client.hpp>
#include <beck/websocket/stream.hpp>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::websocket {

/// How a client connects. Every setter returns the object. A value.
class connect_options {
 public:
  /// Makes the defaults.
  connect_options() noexcept {}

  /// Sets the limits of the connection. Default: websocket::limits().
  connect_options& limits(const websocket::limits& most) noexcept {
    limits_ = most;
    return *this;
  }
  /// Sets the subprotocols to offer, separated by commas, the best first; stream::protocol()
  /// returns the one that the server has chosen. Default: none.
  connect_options& protocols(std::string_view list) {
    protocols_ = list;
    return *this;
  }
  /// Adds a field to the request, such as Authorization, Cookie or Origin. Fields of the handshake,
  /// Sec-WebSocket-*, and of the connection are set by the client: connect() throws for them as
  /// http::call::set().
  /// Throws std::invalid_argument if `name` or `value` contains a line end, or `name` a colon: the
  /// result would be another field.
  connect_options& add(std::string_view name, std::string_view value);

  const websocket::limits& limits() const noexcept { return limits_; }
  std::string_view protocols() const noexcept { return protocols_; }
  /// Returns the added fields: "name:value\n" each.
  std::string_view fields() const noexcept { return fields_; }

 private:
  websocket::limits limits_;
  std::string protocols_;
  std::string fields_;
};

namespace functions {

/// Connects to `url`, which begins with ws: or, after by.secure(), with wss:. The time limits are
/// those of every call of the client. The fields of the answer are verified, and redirects are not
/// followed.
///   auto made = co_await websocket::connect(web, "ws://chat.example/rooms/1");
///   if (!made) co_return;
///   websocket::stream ws = std::move(made).value();
/// Errors: bad_url; bad_reply; those of http::call::async_finish(); for an answer with another
/// status than 101 a code of rejection_category(), whose value is the status. Throws
/// std::invalid_argument for a field that must not be set; std::bad_alloc.
/// Thread: that of the client. Lifetime: the client lives until the task ends, not longer; `url` is
/// copied.
task<io_result<stream>> connect(http::client& by, std::string_view url,
                                connect_options how = connect_options());

}  // namespace functions
using namespace functions;

}  // namespace beck::websocket
