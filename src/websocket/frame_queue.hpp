// SPDX-License-Identifier: BSL-1.0
// The frames that wait to be sent over a connection. Small ones are copied behind each other into
// recycled blocks; the frame of a message that goes to many peers is shared with them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/buffer.hpp>
#include <beck/websocket/message.hpp>

namespace beck::websocket::detail {

/// A queue of bytes. A frame is added whole or not at all. Thread: one at a time.
class frame_queue {
 public:
  /// The number of buffers that one write takes.
  static constexpr std::size_t parts_max = 16;

  frame_queue() noexcept = default;
  ~frame_queue() { clear(); }
  frame_queue(const frame_queue&) = delete;
  frame_queue& operator=(const frame_queue&) = delete;

  /// Returns the number of bytes.
  std::size_t size() const noexcept { return static_cast<std::size_t>(added_ - removed_); }
  bool empty() const noexcept { return added_ == removed_; }
  /// Returns the number of bytes that were added in all, and of those that were removed.
  std::uint64_t added() const noexcept { return added_; }
  std::uint64_t removed() const noexcept { return removed_; }

  /// Adds a frame: its head, and a copy of its data, masked with `key` unless that is nullptr.
  /// Throws std::bad_alloc; then nothing has changed.
  void add(const_buffer head, const_buffer data, const mask_key* key);
  /// Adds the frame of a message without copying it. Throws std::bad_alloc; then nothing has
  /// changed.
  void add(const message& shared);
  /// Moves everything of `other` behind what is here.
  void append(frame_queue& other) noexcept;

  /// Fills `parts` with the first bytes, at most parts_max buffers. Returns their number.
  std::size_t gather(const_buffer* parts) const noexcept;
  /// Removes `bytes` bytes at the front. Requires bytes <= size().
  void remove(std::size_t bytes) noexcept;
  /// Removes everything.
  void clear() noexcept { remove(size()); }

 private:
  struct piece;

  void link(piece* first, piece* last) noexcept;
  void copy(const_buffer from, const mask_key* key) noexcept;
  std::size_t room() const noexcept;

  piece* first_ = nullptr;
  piece* fill_ = nullptr;  // the piece that the next copy goes into
  piece* last_ = nullptr;
  std::uint64_t added_ = 0;
  std::uint64_t removed_ = 0;
};

}  // namespace beck::websocket::detail
