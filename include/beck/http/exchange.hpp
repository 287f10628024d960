// SPDX-License-Identifier: BSL-1.0
//
// A request and its reply in one object, for handlers that answer later from a callback.
#pragma once

#include <beck/http/request.hpp>
#include <beck/http/response.hpp>

namespace beck::http {

/// A request that waits for its reply. A handler moves it into whatever will answer: a callback, a
/// queue, a table. Destroying it ends the exchange: what the reply has then is sent, and the next
/// request of the connection is served; a reply that was not begun is 500. An exchange whose peer
/// has gone stays valid; its writes end with broken_pipe. One that ends before its operations ends
/// them: writes with operation_aborted; a read or a file under way cuts the connection. There is no
/// limit to its time but the grace of server::stop(): until then its connection stays open, counts
/// against limits::connections(), and keeps serve() from ending.
/// Thread: that of the connection, for its destruction, too. Lifetime: its owner destroys it before
/// the context, or is destroyed with the context.
class exchange {
 public:
  /// Takes over the exchange of `other`, which may only be assigned to or destroyed afterwards.
  exchange(exchange&& other) noexcept;
  exchange& operator=(exchange&& other) noexcept;
  ~exchange();

  /// Returns the request.
  http::request& request() noexcept { return request_; }
  /// Returns the reply.
  http::response& response() noexcept { return response_; }
  /// Returns the executor of the connection.
  any_io_executor get_executor() const noexcept;

 private:
  friend class detail::connection;
  friend class detail::handler_run;
  exchange(detail::connection& of, const http::request& q, const http::response& r) noexcept
      : connection_(&of), request_(q), response_(r) {}

  detail::connection* connection_;  // nullptr: moved from
  http::request request_;
  http::response response_;
};

}  // namespace beck::http
