// SPDX-License-Identifier: BSL-1.0
// The receiving side of a connection. A read decodes bytes in place. It receives into a buffer that
// the context lends; in the middle of a large frame and after a large message straight into the
// reader's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/base/flat_buffer.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/websocket/codec.hpp>
#include <beck/websocket/stream.hpp>

#include "websocket/input.hpp"

namespace beck::websocket::detail {

class session;

/// The received bytes, their decoder, the message that was received in part, and the right to
/// receive, which one coroutine has at a time. Thread: that of its session, of which it is a part.
class frame_input {
 public:
  frame_input(session& of, side own) noexcept;

  // --- `self` keeps the session
  static task<io_result<message_kind>> read(std::shared_ptr<session> self, flat_buffer& to);
  static task<io_result<message_part>> read_some(std::shared_ptr<session> self, mutable_buffer to);
  /// Waits until no coroutine reads, drops the input until the peer's end, and finishes the
  /// session. Later reads end with an error. Returns an error if it was cancelled.
  static task<error_code> read_to_end(std::shared_ptr<session> self);

  /// Takes bytes that were received with the handshake. Throws std::bad_alloc.
  void begin_with(std::string_view read_ahead) { input_.take(read_ahead); }
  /// Drops the bytes that are not decoded.
  void release() noexcept { input_.release(); }
  close_code peer_code() const noexcept { return decoder_.peer_code(); }
  std::string_view peer_reason() const noexcept { return decoder_.peer_reason(); }

 private:
  /// The result of next_part().
  enum class progress : std::uint8_t {
    part,  ///< a part of a message is at the front of the input
    more,  ///< further bytes are needed
    over,  ///< the connection has ended
  };
  /// The message that was received in part.
  enum class message_in : std::uint8_t {
    none,
    whole,     ///< by read(): the next one appends to its bytes
    in_parts,  ///< by read_some()
  };
  class reader;

  progress next_part() noexcept;
  void note(const decoded_frame& found) noexcept;
  void count_empty() noexcept;
  mutable_buffer direct_room(flat_buffer& to);
  bool take_direct(flat_buffer& to, mutable_buffer room, std::size_t bytes) noexcept;
  task<io_result<std::size_t>> receive(mutable_buffer direct);
  error_code closed_error() const noexcept;

  session& session_;
  frame_decoder decoder_;
  input input_;

  // the part of a message at the front of input_, if there is one
  std::size_t part_bytes_ = 0;
  bool has_part_ = false;
  bool part_ends_ = false;  // it is, or was, the last of its message
  message_in message_in_ = message_in::none;
  std::size_t last_bytes_ = 0;  // of the last message that read() has received

  unsigned empty_frames_ = 0;  // in a row, since empty_since_
  std::int64_t empty_since_ = 0;

  manual_reset_event idle_{true};  // set while no coroutine has the right to receive
  bool is_closed_ = false;         // for reads, in any state: read_to_end() has received
};

}  // namespace beck::websocket::detail
