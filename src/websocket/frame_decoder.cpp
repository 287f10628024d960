// SPDX-License-Identifier: BSL-1.0
// The decoder of frames. Heads and control frames are collected, because the input may be split
// inside them; data stays in place.
#include <beck/websocket/codec.hpp>

#include <algorithm>
#include <cstring>

#include <beck/base/assert.hpp>

namespace beck::websocket {
namespace {

constexpr unsigned last_bit = 0x80;
constexpr unsigned reserved_bits = 0x70;
constexpr unsigned opcode_bits = 0x0f;
constexpr unsigned mask_bit = 0x80;
constexpr unsigned length_bits = 0x7f;
constexpr unsigned length_in_2 = 126;  // the length is in the next two bytes
constexpr unsigned length_in_8 = 127;
constexpr std::size_t key_bytes = sizeof(mask_key::bytes);

unsigned byte_at(const char* text) noexcept { return static_cast<unsigned char>(*text); }

std::uint64_t number_at(const char* text, std::size_t bytes) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | byte_at(text + i);
  return number;
}

bool is_control(opcode kind) noexcept { return kind >= opcode::close; }

bool is_known(unsigned number) noexcept { return number <= 2 || (number >= 8 && number <= 10); }

}  // namespace

std::size_t functions::write_frame_head(char* to, opcode kind, bool is_last, std::uint64_t bytes,
                                        const mask_key* key) noexcept {
  BECK_ASSERT(bytes <= INT64_MAX, "a frame has less than 2^63 bytes");
  const unsigned masked = key != nullptr ? mask_bit : 0;
  std::size_t more = 0;  // bytes of the length after the first
  unsigned length = static_cast<unsigned>(bytes);
  if (bytes >= length_in_2) {
    more = bytes <= UINT16_MAX ? 2 : 8;
    length = more == 2 ? length_in_2 : length_in_8;
  }
  char* at = to;
  *at++ = static_cast<char>((is_last ? last_bit : 0) | static_cast<unsigned>(kind));
  *at++ = static_cast<char>(masked | length);
  while (more-- != 0) *at++ = static_cast<char>(bytes >> (8 * more));
  if (key != nullptr) {
    std::memcpy(at, key->bytes, key_bytes);
    at += key_bytes;
  }
  return static_cast<std::size_t>(at - to);
}

bool frame_decoder::refuse(stream_error why) noexcept {
  stage_ = stage::refused;
  reason_ = why;
  return false;
}

decoded_frame frame_decoder::decode(mutable_buffer input) noexcept {
  decoded_frame found;
  char* const begin = static_cast<char*>(input.data());
  char* at = begin;
  const char* const end = begin + input.size();
  if (stage_ == stage::head) {
    const char* head = at;
    if (!read_head(head, end)) {
      if (stage_ == stage::refused) found.event = frame_event::refused;
      found.consumed = static_cast<std::size_t>(head - begin);
      return found;
    }
    at += head - begin;
  }
  switch (stage_) {
    case stage::head:
      break;
    case stage::control: {
      const char* text = at;
      read_control(text, end);
      at += text - at;
      if (payload_left_ == 0) found.event = end_control();
      break;
    }
    case stage::data:
      if (!read_data(at, end, found)) found.event = frame_event::refused;
      break;
    case stage::closed:
      at += input.size();
      break;
    case stage::refused:
      found.event = frame_event::refused;
      break;
  }
  found.consumed = static_cast<std::size_t>(at - begin);
  return found;
}

/// Collects the head of a frame. Returns whether it is whole and good.
bool frame_decoder::read_head(const char*& at, const char* end) noexcept {
  for (;;) {
    const std::size_t missing = static_cast<std::size_t>(head_needed_ - head_bytes_);
    const std::size_t there = std::min(missing, static_cast<std::size_t>(end - at));
    if (there != 0) std::memcpy(head_ + head_bytes_, at, there);
    at += there;
    head_bytes_ = static_cast<std::uint8_t>(head_bytes_ + there);
    if (there < missing) return false;
    if (head_needed_ == 2) {
      if (!check_first_bytes()) return false;
      if (head_needed_ != 2) continue;
    }
    head_bytes_ = 0;
    head_needed_ = 2;
    return begin_frame();
  }
}

/// Checks the first two bytes of a head, and finds the size of the head.
bool frame_decoder::check_first_bytes() noexcept {
  const unsigned first = byte_at(head_);
  const unsigned second = byte_at(head_ + 1);
  const unsigned length = second & length_bits;
  const bool has_mask = (second & mask_bit) != 0;
  if ((first & reserved_bits) != 0) return refuse(stream_error::reserved_bits);
  if (!is_known(first & opcode_bits)) return refuse(stream_error::bad_opcode);
  opcode_ = static_cast<opcode>(first & opcode_bits);
  is_last_ = (first & last_bit) != 0;
  if (own_ == side::server && !has_mask) return refuse(stream_error::not_masked);
  if (own_ == side::client && has_mask) return refuse(stream_error::masked);
  if (is_control(opcode_)) {
    if (!is_last_) return refuse(stream_error::control_fragmented);
    if (length > control_max) return refuse(stream_error::control_too_long);
  } else if (opcode_ == opcode::continuation) {
    if (!in_message_) return refuse(stream_error::unexpected_continuation);
  } else if (in_message_) {
    return refuse(stream_error::message_unfinished);
  }
  const std::size_t more = length == length_in_2 ? 2 : length == length_in_8 ? 8 : 0;
  head_needed_ = static_cast<std::uint8_t>(2 + more + (has_mask ? key_bytes : 0));
  return true;
}

/// Takes the length and the key from a whole head. Returns false if the frame is too long.
bool frame_decoder::begin_frame() noexcept {
  const unsigned second = byte_at(head_ + 1);
  const char* at = head_ + 2;
  payload_left_ = second & length_bits;
  if (payload_left_ == length_in_2) {
    payload_left_ = number_at(at, 2);
    at += 2;
    if (payload_left_ < length_in_2) return refuse(stream_error::length_not_minimal);
  } else if (payload_left_ == length_in_8) {
    payload_left_ = number_at(at, 8);
    at += 8;
    if (payload_left_ > INT64_MAX) return refuse(stream_error::length_too_large);
    if (payload_left_ <= UINT16_MAX) return refuse(stream_error::length_not_minimal);
  }
  if ((second & mask_bit) != 0) std::memcpy(key_.bytes, at, key_bytes);
  payload_at_ = 0;
  if (is_control(opcode_)) {
    control_bytes_ = 0;
    stage_ = stage::control;
    return true;
  }
  if (opcode_ != opcode::continuation) {
    kind_ = static_cast<message_kind>(opcode_);
    in_message_ = true;
    message_bytes_ = 0;  // text_ is whole: a message before this one has ended
  }
  if (payload_left_ > limits_.frame_bytes) return refuse(stream_error::frame_too_long);
  BECK_ASSERT(message_bytes_ <= limits_.message_bytes, "a message is longer than its limit");
  if (payload_left_ > limits_.message_bytes - message_bytes_)
    return refuse(stream_error::message_too_long);
  message_bytes_ += payload_left_;
  stage_ = stage::data;
  return true;
}

void frame_decoder::read_control(const char*& at, const char* end) noexcept {
  const std::size_t there = static_cast<std::size_t>(
      std::min<std::uint64_t>(payload_left_, static_cast<std::size_t>(end - at)));
  BECK_ASSERT(control_bytes_ + there <= control_max, "a control frame has no room");
  if (there != 0) std::memcpy(control_ + control_bytes_, at, there);
  at += there;
  control_bytes_ = static_cast<std::uint8_t>(control_bytes_ + there);
  payload_left_ -= there;
}

/// Handles a whole control frame.
frame_event frame_decoder::end_control() noexcept {
  if (own_ == side::server) apply_mask(control_, control_bytes_, key_);
  stage_ = stage::head;
  if (opcode_ == opcode::ping) return frame_event::ping;
  if (opcode_ == opcode::pong) return frame_event::pong;
  if (!accept_close()) return frame_event::refused;
  stage_ = stage::closed;
  return frame_event::close;
}

bool frame_decoder::accept_close() noexcept {
  if (control_bytes_ == 0) {
    peer_code_ = close_code::no_status;
    return true;
  }
  if (control_bytes_ == 1) return refuse(stream_error::bad_close);
  const auto code = static_cast<close_code>(number_at(control_, 2));
  if (!may_be_sent(code)) return refuse(stream_error::bad_close);
  detail::utf8_state text;
  if (!text.feed(control_ + 2, control_bytes_ - std::size_t{2}) || !text.is_whole())
    return refuse(stream_error::bad_text);
  peer_code_ = code;
  return true;
}

std::string_view frame_decoder::peer_reason() const noexcept {
  if (stage_ != stage::closed || control_bytes_ < 2) return {};
  return {control_ + 2, control_bytes_ - std::size_t{2}};
}

/// Unmasks and checks data in place. Returns false for bad text.
bool frame_decoder::read_data(char*& at, const char* end, decoded_frame& found) noexcept {
  const std::size_t there = static_cast<std::size_t>(
      std::min<std::uint64_t>(payload_left_, static_cast<std::size_t>(end - at)));
  if (there == 0 && payload_left_ != 0) return true;  // more
  if (own_ == side::server) apply_mask(at, there, key_, payload_at_);
  if (kind_ == message_kind::text && !text_.feed(at, there)) return refuse(stream_error::bad_text);
  found.data = mutable_buffer(at, there);
  at += there;
  payload_at_ += there;
  payload_left_ -= there;
  found.event = frame_event::data;
  if (payload_left_ != 0) return true;
  stage_ = stage::head;
  if (!is_last_) return true;
  if (kind_ == message_kind::text && !text_.is_whole()) return refuse(stream_error::bad_text);
  found.ends_message = true;
  in_message_ = false;
  return true;
}

}  // namespace beck::websocket
