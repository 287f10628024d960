// SPDX-License-Identifier: BSL-1.0
//
// The server's end of a WebSocket connection: an HTTP handler accepts the request, and then sends
// and receives messages.
#pragma once

#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <beck/websocket/stream.hpp>
#include <string_view>
#include <type_traits>

namespace beck::websocket {

/// How a server accepts connections. The texts are valid until accept() returns, which copies them.
struct accept_options {
  /// The subprotocols that the server speaks, separated by commas, the best first. The first one
  /// that the client offers is chosen. A client that offers none of them is accepted without a
  /// subprotocol.
  std::string_view protocols = {};
  /// The origins of the pages whose scripts may connect, separated by commas, such as
  /// "https://app.example, http://localhost:8080"; "*": all. Two kinds of clients may always
  /// connect: pages of the server itself, whose origin has the host and port of the request (a
  /// missing port is the scheme's) and, over TLS, the scheme https; and clients that are no
  /// browsers and send no Origin field. Browsers let the scripts of every page connect to every
  /// server, with the user's cookies: only this check stops them.
  std::string_view origins = {};
  /// The limits of the connection.
  websocket::limits limits = {};
};
static_assert(std::is_trivially_destructible_v<accept_options>);

namespace functions {

/// Makes a connection from the request of a handler. Checks method, version, key, Upgrade,
/// Connection and Origin. If the request fails a check, accept() answers it, and the handler just
/// ends. Ignores extensions that the client offers, such as permessage-deflate. Sends the fields
/// that the handler has set in `response`.
///   task<> chat(http::request& q, http::response& r) {
///     auto accepted = co_await websocket::accept(q, r);
///     if (!accepted) co_return;
///     websocket::stream ws = std::move(accepted).value();
///     ...
///   }
/// Requires a handler that is a coroutine, or an exchange. Errors: no_upgrade, bad_version,
/// bad_key, bad_origin; broken_pipe if the connection is gone. Throws as response::take_over().
/// Thread: that of the handler. Lifetime: `q` and `response` live until the task ends.
task<io_result<stream>> accept(http::request& q, http::response& response,
                               const accept_options& how = accept_options());

}  // namespace functions
using namespace functions;

}  // namespace beck::websocket
