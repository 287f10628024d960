// SPDX-License-Identifier: BSL-1.0
// The bytes that wait to be sent over a connection. They lie in recycled blocks and do not move, so
// bytes may be added behind those that are being sent; a large text is kept as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/io/byte_stream.hpp>

namespace beck::http::detail {

/// A queue of bytes. Thread: one at a time.
class outbox {
 public:
  /// The number of buffers that one write takes.
  static constexpr std::size_t parts_max = 16;
  /// The greatest argument of reserve().
  static constexpr std::size_t reserve_max = 3072;

  outbox() noexcept = default;
  ~outbox() { clear(); }
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  /// Returns the number of bytes.
  std::size_t size() const noexcept { return bytes_; }
  bool empty() const noexcept { return bytes_ == 0; }

  /// Returns contiguous room for `bytes` bytes behind the present ones. Requires bytes <=
  /// reserve_max. Throws std::bad_alloc.
  char* reserve(std::size_t bytes);
  /// Adds the first `bytes` bytes of the room that reserve() has returned.
  void commit(std::size_t bytes) noexcept;
  /// Adds a copy of `text`. Throws std::bad_alloc; then nothing has changed that is sent.
  void append(std::string_view text);
  /// Adds `text` without copying it. Throws std::bad_alloc.
  void append_whole(std::string&& text);

  /// Fills `parts` with the first bytes. Returns the number of parts.
  std::size_t gather(const_buffer (&parts)[parts_max]) const noexcept;
  /// Sends, and removes, as many bytes as `to` takes at once. Returns their number; `ec` is the
  /// error of a stream that has failed, which a full one has not. `last`: the end of `to` follows.
  std::size_t send_now(byte_stream& to, error_code& ec, bool last = false) noexcept;
  /// Removes `bytes` bytes at the front. Requires bytes <= size().
  void consume(std::size_t bytes) noexcept;
  /// Removes everything.
  void clear() noexcept;

 private:
  struct piece;

  piece* add_block();

  piece* first_ = nullptr;
  piece* last_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace beck::http::detail
