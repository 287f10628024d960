// SPDX-License-Identifier: BSL-1.0
//
// The errors of WebSocket connections, and the codes of their close frames (RFC 6455, sections 7.4
// and 11.7). docs/websocket.md has a table of both.
#pragma once

#include <beck/base/error.hpp>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::websocket {

/// The code of a close frame. Every number from 1000 to 4999 is a valid value, named here or not;
/// those from 4000 on belong to programs.
enum class close_code : std::uint16_t {
  none = 0,               ///< no close frame yet
  normal = 1000,          ///< the work of the connection is done
  going_away = 1001,      ///< a server shuts down, a user leaves a page
  protocol_error = 1002,  ///< the peer has broken the protocol
  unsupported = 1003,     ///< a kind of message that is not accepted
  no_status = 1005,       ///< a close frame without a code; never sent
  abnormal = 1006,        ///< the connection ended without a close frame; never sent
  bad_data = 1007,        ///< text that is not UTF-8
  policy = 1008,          ///< a rule of the program
  too_big = 1009,         ///< a message that is too long
  no_extension = 1010,    ///< a client needs an extension
  internal_error = 1011,  ///< an error inside the sender
  restart = 1012,         ///< the server restarts
  try_later = 1013,       ///< the server is overloaded
  bad_gateway = 1014,     ///< a server behind this one has failed
};

namespace functions {

/// Returns whether a close frame may have this code: 1000 to 1003, 1007 to 1014, 3000 to 4999.
constexpr bool may_be_sent(close_code code) noexcept {
  const auto number = static_cast<unsigned>(code);
  return (number >= 1000 && number <= 1003) || (number >= 1007 && number <= 1014) ||
         (number >= 3000 && number <= 4999);
}

}  // namespace functions
using namespace functions;

/// The reason why a connection has ended, or was not made.
enum class stream_error : int {
  // the peer breaks the protocol: close code 1002
  reserved_bits = 1,        ///< RSV1 to RSV3, which belong to extensions
  bad_opcode,               ///< 3 to 7, or 11 to 15
  control_fragmented,       ///< a control frame in fragments
  control_too_long,         ///< a control frame over 125 bytes
  length_not_minimal,       ///< a length in more bytes than it needs
  length_too_large,         ///< a length over 2^63-1
  not_masked,               ///< a client's frame without a mask
  masked,                   ///< a server's frame with a mask
  unexpected_continuation,  ///< outside of a message
  message_unfinished,       ///< a message begins inside another one
  bad_close,                ///< a close frame with one byte, or a code that must not be sent
  bad_text,                 ///< text, or the reason of a close frame, is not UTF-8: 1007
  // the peer breaks a limit
  frame_too_long,    ///< limits::frame_bytes: 1009
  message_too_long,  ///< limits::message_bytes, or the buffer of read(): 1009
  too_many_control,  ///< limits::control_frames: 1008
  // ends
  closed,           ///< by a close frame; see stream::peer_code() and peer_reason()
  cut_short,        ///< the connection has ended without a close frame
  pong_late,        ///< nothing arrived for limits::pong_timeout after a ping
  send_late,        ///< the peer took no byte for limits::send_timeout
  close_late,       ///< no close frame arrived within limits::close_timeout
  queue_full,       ///< more than limits::queue_bytes queued, and limits::drop_when_full
  write_cancelled,  ///< a write was cancelled after it had sent a part of its message
  // handshakes
  no_upgrade,    ///< a request that does not ask for WebSocket: 400, 405 or 426
  bad_version,   ///< another version than 13: 426
  bad_key,       ///< Sec-WebSocket-Key is not 16 bytes in base64: 400
  bad_origin,    ///< accept_options::origins does not have the page's origin: 403
  bad_url,       ///< neither ws: nor wss:
  bad_response,  ///< 101 with fields that do not answer the request
};

/// Returns the category of stream_error. The late ones compare equal to errc::timed_out, cut_short
/// to errc::connection_reset, those of limits to errc::message_size, violations of the protocol to
/// errc::protocol_error. Any thread; valid until the process ends.
const std::error_category& stream_category() noexcept;
/// Returns the category of statuses other than 101 that servers have answered. The value of a code
/// is the status. As stream_category().
const std::error_category& rejection_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(stream_error e) noexcept {
  return {static_cast<int>(e), stream_category()};
}

namespace functions {

/// Returns the name of the value, such as "pong_late".
std::string_view name_of(stream_error e) noexcept;
/// Returns the code of the close frame that reports the error to the peer; close_code::none if no
/// frame is sent for it.
close_code code_for(stream_error e) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::websocket

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::websocket::stream_error> : std::true_type {};
