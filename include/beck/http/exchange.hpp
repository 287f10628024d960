// SPDX-License-Identifier: BSL-1.0
//
// A request and its response in one object, for handlers that answer later from a callback.
#pragma once

#include <beck/http/request.hpp>
#include <beck/http/response.hpp>

namespace beck::http {

/// A request that waits for its response. A handler moves it to the place that will answer: a
/// callback, a queue, a table. Destroying it ends the exchange: the server sends the response as it
/// is then, or 500 if none was begun, and serves the next request of the connection. If the peer
/// has gone, the exchange stays valid; its writes end with broken_pipe. Operations that are still
/// under way when it is destroyed end with it: writes with operation_aborted; a read or the sending
/// of a file cuts the connection. The only limit to its time is the grace of server::stop(): until
/// then its connection stays open, counts against limits::connections, and keeps serve() from
/// ending.
/// Thread: that of the connection, also for its destruction. Lifetime: its owner destroys it before
/// the context, or is destroyed with the context.
class exchange {
 public:
  /// Takes over the exchange of `other`, which may then only be assigned to or destroyed.
  exchange(exchange&& other) noexcept;
  exchange& operator=(exchange&& other) noexcept;
  ~exchange();

  /// Returns the request.
  http::request& request() noexcept { return request_; }
  /// Returns the response.
  http::response& response() noexcept { return response_; }
  /// Returns the executor of the connection.
  any_io_executor get_executor() const noexcept;

 private:
  friend struct detail::exchange_state;
  exchange(detail::exchange_state& of, const http::request& q, const http::response& r) noexcept
      : state_(&of), request_(q), response_(r) {}

  detail::exchange_state* state_;  // nullptr: moved from
  http::request request_;
  http::response response_;
};

}  // namespace beck::http
