// SPDX-License-Identifier: BSL-1.0
//
// The limits of a WebSocket connection: how much a peer may send, how many bytes may be queued for
// it, and how long each step may take. docs/websocket.md has a table of them, with the errors.
#pragma once

#include <beck/base/duration.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beck::websocket {

/// The limits of a connection.
struct limits {
  /// The greatest number of bytes of a received frame. Error beyond it: frame_too_long. Default: 1
  /// MiB.
  std::uint64_t frame_bytes = 1'048'576;
  /// The greatest number of bytes of a received message, in all its frames. Error beyond it:
  /// message_too_long. Default: 1 MiB.
  std::uint64_t message_bytes = 1'048'576;
  /// How many frames without data (pings, pongs, empty parts of messages) may come in a row within
  /// a second. Error beyond it: too_many_control. 0 counts as 1.
  unsigned control_frames = 1000;
  /// The greatest number of queued bytes. Beyond it write() waits, and send() fails. If messages
  /// wait for the end of a message that is written in parts, one fragment of that message, 64 KiB,
  /// may be queued in addition. Less than 1,024 counts as 1,024. Default: 256 KiB.
  std::size_t queue_bytes = 262'144;
  /// Whether send() ends a connection whose queue is full, with queue_full. Otherwise it returns
  /// would_block, and the message is not sent.
  bool drop_when_full = false;
  /// How long a read waits without receiving anything before a ping is sent. duration::max(): no
  /// pings. Default: 30 s.
  duration ping_interval = duration::seconds(30);
  /// How long the peer may send nothing after a ping. Error beyond it: pong_late. Default: 10 s.
  duration pong_timeout = duration::seconds(10);
  /// How long the peer may take no byte of the output. Error beyond it: send_late. Default: 30 s.
  duration send_timeout = duration::seconds(30);
  /// How long the end of a connection may take, from the first close frame, or from an error, to
  /// the end of the socket. Error beyond it: close_late. Default: 3 s.
  duration close_timeout = duration::seconds(3);
};
static_assert(std::is_trivially_destructible_v<limits>);

}  // namespace beck::websocket
