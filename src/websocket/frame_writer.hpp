// SPDX-License-Identifier: BSL-1.0
// Adds frames to the queued bytes of a connection, with the keys that mask them. A frame is added
// whole or not at all.
#pragma once

#include <cstddef>

#include <beck/base/buffer.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/websocket/codec.hpp>
#include <beck/websocket/message.hpp>

namespace beck::websocket::detail {

/// Adds a frame: its head, and a copy of its data, masked with `key` unless that is nullptr. Throws
/// std::bad_alloc; then nothing has changed.
void add_frame(beck::byte_queue& to, const_buffer head, const_buffer data, const mask_key* key);
/// Adds the frame of a message, which many connections share, without copying it. Throws
/// std::bad_alloc; then nothing has changed.
void add_frame(beck::byte_queue& to, const message& shared);

/// Fills memory with random bytes of the system of a context.
void fill_random(const any_io_executor& executor, void* data, std::size_t bytes) noexcept;

/// Random bytes for keys, drawn from the system a block at a time. Thread: that of the context.
class key_source {
 public:
  explicit key_source(const any_io_executor& executor) noexcept : executor_(executor) {}
  /// Returns the next key.
  mask_key next() noexcept;

 private:
  static constexpr std::size_t keys_max = 32;

  any_io_executor executor_;
  mask_key keys_[keys_max];
  std::size_t left_ = 0;
};

/// Makes the frames of one end of a connection: a client's are masked. Thread: that of the context.
class frame_writer {
 public:
  frame_writer(const any_io_executor& executor, side own) noexcept : keys_(executor), own_(own) {}

  bool masks() const noexcept { return own_ == side::client; }
  /// Returns the number of bytes that add() adds for a message.
  std::size_t bytes_of(const message& shared) const noexcept {
    return shared.frame().size() + (masks() ? sizeof(mask_key) : 0);
  }
  /// Adds a frame with a copy of its data. Throws std::bad_alloc; then nothing has changed.
  void add(beck::byte_queue& to, opcode kind, bool is_last, const_buffer data) {
    char head[frame_head_max];
    const mask_key key = masks() ? keys_.next() : mask_key();
    const mask_key* const masking = masks() ? &key : nullptr;
    const std::size_t bytes = write_frame_head(head, kind, is_last, data.size(), masking);
    add_frame(to, const_buffer(head, bytes), data, masking);
  }
  /// Adds the frame of a message; a server shares it. Throws std::bad_alloc; then nothing has
  /// changed.
  void add(beck::byte_queue& to, const message& shared);

 private:
  key_source keys_;
  side own_;
};

}  // namespace beck::websocket::detail
