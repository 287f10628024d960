// SPDX-License-Identifier: BSL-1.0
//
// The client's end of a WebSocket connection, over the connector, the pool and the limits of an
// HTTP client.
#pragma once

#include <beck/http/client.hpp>
#include <beck/websocket/stream.hpp>
#include <span>  // lint: allow heavy-header, the client has <string> already
#include <string_view>
#include <type_traits>

namespace beck::websocket {

/// A field of a request.
struct request_field {
  std::string_view name = {};
  std::string_view value = {};
};

/// How a client connects. The texts are valid until connect() returns, which copies them.
struct connect_options {
  /// The subprotocols to offer, separated by commas, the best first; stream::protocol() returns the
  /// one that the server has chosen.
  std::string_view protocols = {};
  /// Fields to add to the request, such as Authorization, Cookie or Origin. Fields of the
  /// handshake, Sec-WebSocket-*, and of the connection are set by the client. Name the array before
  /// a co_await: g++ 12 does not compile an array in braces there.
  std::span<const request_field> fields = {};
  /// The limits of the connection.
  websocket::limits limits = {};
};
static_assert(std::is_trivially_destructible_v<connect_options>);

namespace functions {

/// Connects to `url`, which begins with ws: or, after by.secure(), with wss:. The time limits are
/// those of every call of the client. The fields of the answer are verified, and redirects are not
/// followed.
///   const websocket::request_field more[] = {{"Authorization", token}};
///   auto made = co_await websocket::connect(web, "ws://chat.example/rooms/1", {.fields = more});
///   if (!made) co_return;
///   websocket::stream ws = std::move(made).value();
/// Errors: bad_url; bad_response; those of http::call::async_finish(); for an answer with another
/// status than 101 a code of rejection_category(), whose value is the status. Throws
/// std::invalid_argument if a name or a value of `how.fields` contains a line end, or a name a
/// colon, since the result would be another field; for a name that the client writes the call
/// throws it, or the task, as http::call::set(); std::bad_alloc.
/// Thread: that of the client. Lifetime: the client lives until the task ends, not longer; `url` is
/// copied.
task<io_result<stream>> connect(http::client& by, std::string_view url,
                                const connect_options& how = connect_options());

}  // namespace functions
using namespace functions;

}  // namespace beck::websocket
