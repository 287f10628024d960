// SPDX-License-Identifier: BSL-1.0
//
// Frames without I/O (RFC 6455, section 5): a decoder that works in place, with any split of its
// input, the heads of frames, and the mask. Nothing here allocates.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/base/buffer.hpp>
#include <beck/websocket/error.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::websocket {

/// The kind of a frame.
enum class opcode : std::uint8_t {
  continuation = 0,  ///< a further part of a message
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

/// The kind of a message.
enum class message_kind : std::uint8_t { text = 1, binary = 2 };

/// One of the two ends of a connection.
enum class side : std::uint8_t { server, client };

/// The key that masks the bytes of a client's frame.
struct mask_key {
  char bytes[4] = {};
};

/// The greatest number of bytes of a frame's head.
inline constexpr std::size_t frame_head_max = 14;

namespace functions {

/// Masks or unmasks `bytes` bytes at `data`. `offset`: the position of the first one in its frame.
/// Thread: any. Source: RFC 6455, section 5.3.
void apply_mask(char* data, std::size_t bytes, mask_key key, std::uint64_t offset = 0) noexcept;

/// Writes the head of a frame with `bytes` bytes. `is_last`: the frame ends its message; control
/// frames are always last. `key`: for a client's frame; nullptr for a server's. Requires
/// frame_head_max bytes at `to`, and bytes < 2^63. Returns the number of bytes written.
std::size_t write_frame_head(char* to, opcode kind, bool is_last, std::uint64_t bytes,
                             const mask_key* key) noexcept;

}  // namespace functions
using namespace functions;

namespace detail {

/// Checks UTF-8 piece by piece as it arrives (RFC 3629; Unicode, table 3-7). A value.
class utf8_state {
 public:
  /// Checks the next bytes. Returns false at the first byte that cannot continue a valid text.
  bool feed(const char* data, std::size_t bytes) noexcept;
  /// Returns whether the bytes so far end with a whole character.
  bool is_whole() const noexcept { return needed_ == 0; }

 private:
  bool begin(unsigned char lead) noexcept;

  std::uint8_t needed_ = 0;  // bytes of the present character
  std::uint8_t low_ = 0x80;  // the bounds of the next one
  std::uint8_t high_ = 0xbf;
};

}  // namespace detail

/// The event that a decoder has found.
enum class frame_event : std::uint8_t {
  more,     ///< the end of the input
  data,     ///< a part of a message
  ping,     ///< a ping; control_text() is its text
  pong,     ///< a pong; control_text() is its text
  close,    ///< a close frame: its sender sends nothing more
  refused,  ///< frame_decoder::reason() has the reason
};

/// The result of frame_decoder::decode().
struct decoded_frame {
  frame_event event = frame_event::more;
  bool ends_message = false;  ///< of data: the last part of its message
  std::size_t consumed = 0;   ///< bytes of the input
  mutable_buffer data;        ///< of data: unmasked, a part of the input, perhaps empty
};

/// The greatest sizes that a peer may send.
struct frame_limits {
  std::uint64_t frame_bytes = 1'048'576;    ///< of one frame's data
  std::uint64_t message_bytes = 1'048'576;  ///< of one message
};

/// Decodes the frames of a peer strictly. Lengths are compared with the limits as soon as a head is
/// whole, and text is checked byte by byte, so a bad frame is refused before all of it was
/// received. About 200 bytes. Thread: one at a time.
class frame_decoder {
 public:
  /// Makes a decoder for the end `own` of a connection.
  explicit frame_decoder(side own, const frame_limits& most = frame_limits()) noexcept
      : limits_(most), own_(own) {}

  /// Decodes the front of `input`, up to the first event, and unmasks data in place. Call it again
  /// with the rest until it returns more. After refused it returns refused again. After close it
  /// returns more, and drops its input.
  decoded_frame decode(mutable_buffer input) noexcept;

  /// Returns the kind of the message that data belongs to. Requires that there was data.
  message_kind kind() const noexcept { return kind_; }
  /// Returns whether a message has begun and not ended.
  bool in_message() const noexcept { return in_message_; }
  /// Returns how many bytes of the present data frame have not been decoded. At least so many bytes
  /// of the input belong to one message.
  std::uint64_t bytes_left() const noexcept {
    return stage_ == stage::data ? payload_left_ : std::uint64_t{0};
  }
  /// Returns the text of the last ping or pong; valid until the next call of decode().
  std::string_view control_text() const noexcept { return {control_, control_bytes_}; }
  /// Returns the code of the close frame: close_code::none before it, no_status if it had none.
  close_code peer_code() const noexcept { return peer_code_; }
  /// Returns the text of the close frame; valid as long as the decoder.
  std::string_view peer_reason() const noexcept;
  /// Returns why the input was refused. Requires that decode() has returned refused.
  stream_error reason() const noexcept {
    BECK_ASSERT(stage_ == stage::refused, "the reason of a decoder that refused nothing");
    return reason_;
  }

 private:
  enum class stage : std::uint8_t { head, data, control, closed, refused };
  static constexpr std::size_t control_max = 125;

  bool read_head(const char*& at, const char* end) noexcept;
  bool check_first_bytes() noexcept;
  bool begin_frame() noexcept;
  void read_control(const char*& at, const char* end) noexcept;
  frame_event end_control() noexcept;
  bool accept_close() noexcept;
  bool read_data(char*& at, const char* end, decoded_frame& found) noexcept;
  bool refuse(stream_error why) noexcept;

  frame_limits limits_;
  std::uint64_t payload_left_ = 0;
  std::uint64_t payload_at_ = 0;     // of the present frame
  std::uint64_t message_bytes_ = 0;  // of the heads so far
  side own_;
  stage stage_ = stage::head;
  message_kind kind_ = message_kind::text;
  opcode opcode_ = opcode::continuation;
  bool is_last_ = false;  // the present frame ends its message
  bool in_message_ = false;
  std::uint8_t head_bytes_ = 0;  // of head_
  std::uint8_t head_needed_ = 2;
  std::uint8_t control_bytes_ = 0;  // of control_
  detail::utf8_state text_;
  mask_key key_;
  stream_error reason_{};
  close_code peer_code_ = close_code::none;
  char head_[frame_head_max];
  char control_[control_max];
};

}  // namespace beck::websocket
