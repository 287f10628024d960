// SPDX-License-Identifier: BSL-1.0
//
// The limits of a WebSocket connection: how much a peer may send, how many bytes may be queued for
// it, and how long each step may take. docs/websocket.md has a table of them, with the errors.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/websocket/codec.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::websocket {

/// The limits of a connection. Every setter returns the object. A value.
class limits {
 public:
  /// Makes the defaults.
  limits() noexcept {}

  /// Sets the greatest number of bytes of a received frame. Error: frame_too_long. Default: 1 MiB.
  limits& frame_bytes(std::uint64_t most) noexcept {
    frames_.frame_bytes = most;
    return *this;
  }
  /// Sets the greatest number of bytes of a received message, in all its frames. Error beyond it:
  /// message_too_long. Default: 1 MiB.
  limits& message_bytes(std::uint64_t most) noexcept {
    frames_.message_bytes = most;
    return *this;
  }
  /// Sets how many frames without data (pings, pongs, empty parts of messages) may come in a row
  /// within a second. Error beyond it: too_many_control. 0 counts as 1. Default: 1,000.
  limits& control_frames(unsigned most) noexcept {
    control_frames_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets the greatest number of queued bytes. Beyond it write() waits, and send() fails. If
  /// messages wait for the end of a message that is written in parts, one fragment of that message,
  /// 64 KiB, may be queued in addition. At least 1,024. Default: 256 KiB.
  limits& queue_bytes(std::size_t most) noexcept {
    queue_bytes_ = most < queue_bytes_min ? queue_bytes_min : most;
    return *this;
  }
  /// Sets whether send() ends a connection whose queue is full, with queue_full. Otherwise it
  /// returns would_block, and the message is not sent. Default: false.
  limits& drop_when_full(bool drops) noexcept {
    drop_when_full_ = drops;
    return *this;
  }

  /// Sets how long a read waits without receiving anything before a ping is sent. duration::max():
  /// no pings. Default: 30 s.
  limits& idle(duration most) noexcept {
    idle_ = most;
    return *this;
  }
  /// Sets how long the peer may send nothing after a ping. Error beyond it: pong_late. Default: 10
  /// s.
  limits& pong(duration most) noexcept {
    pong_ = most;
    return *this;
  }
  /// Sets how long the peer may take no byte of the output. Error beyond it: send_late. Default: 30
  /// s.
  limits& send(duration most) noexcept {
    send_ = most;
    return *this;
  }
  /// Sets how long the end of a connection may take, from the first close frame, or from an error,
  /// to the end of the socket. Error beyond it: close_late. Default: 3 s.
  limits& close(duration most) noexcept {
    close_ = most;
    return *this;
  }

  const frame_limits& frames() const noexcept { return frames_; }
  std::uint64_t frame_bytes() const noexcept { return frames_.frame_bytes; }
  std::uint64_t message_bytes() const noexcept { return frames_.message_bytes; }
  unsigned control_frames() const noexcept { return control_frames_; }
  std::size_t queue_bytes() const noexcept { return queue_bytes_; }
  bool drop_when_full() const noexcept { return drop_when_full_; }
  duration idle() const noexcept { return idle_; }
  duration pong() const noexcept { return pong_; }
  duration send() const noexcept { return send_; }
  duration close() const noexcept { return close_; }

 private:
  static constexpr long long second = 1'000'000'000;
  static constexpr std::size_t queue_bytes_min = 1024;

  frame_limits frames_;
  std::size_t queue_bytes_ = 262'144;
  duration idle_ = duration(30 * second);
  duration pong_ = duration(10 * second);
  duration send_ = duration(30 * second);
  duration close_ = duration(3 * second);
  unsigned control_frames_ = 1000;
  bool drop_when_full_ = false;
};

}  // namespace beck::websocket
