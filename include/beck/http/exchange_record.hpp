// SPDX-License-Identifier: BSL-1.0
//
// Records of exchanges, and of handshakes that have failed, for logs and statistics.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>
#include <beck/http/head.hpp>
#include <beck/http/refusal.hpp>
#include <beck/io/stream_security.hpp>
#include <beck/net/address.hpp>
#include <beck/net/tcp.hpp>
#include <cstdint>
#include <exception>
#include <string_view>

namespace beck::http {

/// An exchange that has ended, or a message that was refused; see server::on_finish().
struct exchange_record {
  /// The head of the request; nullptr if the head was refused or too slow. Valid during the call.
  const request_head* request = nullptr;
  /// The other end of the connection, as request::peer().
  ip::tcp::endpoint peer;
  /// The address of the client, as request::client_address(); the peer's address if there is no
  /// head.
  ip::address client;
  /// The id of the request, as request::id(). Valid during the call.
  std::string_view id;
  /// The pattern of the route, as route_view::pattern(): "/rows/{id}", the label of metrics. An
  /// empty text if the server or a router has answered by itself, without a router, and without
  /// memory for it. Valid during the call.
  std::string_view route;
  /// The protocol of the connection: "HTTP/1.1", also for requests of HTTP/1.0.
  std::string_view protocol;
  /// The result of the handshake of TLS; empty texts without it. Valid during the call.
  stream_security security;
  /// The number of the request on its connection, from 1 on.
  std::uint64_t number = 1;
  /// The status of the response; 0 if there was none, but 400 if the client has cut its body short.
  unsigned status = 0;
  std::uint64_t request_bytes = 0;   ///< of the request's body that were received
  std::uint64_t response_bytes = 0;  ///< of the response's body that were written
  duration time;                     ///< from the end of the head to the end of the handler
  /// The time from the end of the request's head until the response began: its head was queued to
  /// be sent. 0 if there was no response, or no head of the request.
  duration first_byte;
  refusal why = refusal::none;  ///< the reason if the message was refused
  bool cut = false;             ///< the response was begun, and not completed
  /// The exception of the handler, which may be a failure, or a std::logic_error if it ended
  /// without a response. It tells a 500 of the program from a 500 of the server.
  std::exception_ptr thrown;
};

/// A handshake of a layer that has failed; see server::on_handshake_failed().
struct handshake_record {
  /// The other end of the connection, as request::peer().
  ip::tcp::endpoint peer;
  /// The layer's error; error::timeout if it took longer than limits::handshake_timeout;
  /// operation_aborted if the server ended it, to stop or to make room for others.
  error_code error;
  /// The layer's description of the error, such as the alert in words; empty if the code is enough.
  /// Valid during the call.
  std::string_view error_text;
};

}  // namespace beck::http
