// SPDX-License-Identifier: BSL-1.0
//
// A growing buffer of contiguous bytes that is filled at the back and consumed at the front.
// Consuming only moves an offset. The bytes move back to the start when the tail has no room and at
// least as many bytes were consumed as would have to be moved. So each byte is moved a constant
// number of times on average, for any sizes of reads and messages.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/dynamic_buffer.hpp>
#include <cstddef>
#include <string_view>

namespace beck {

/// A growing buffer of contiguous bytes. Owns its bytes. Thread: one at a time. prepare(),
/// resize(), reserve() and assignment invalidate the results of data() and prepare(); consume(),
/// clear() and commit() do not, so a read into prepared room may be in flight while bytes in front
/// of it are consumed.
class flat_buffer {
 public:
  /// The largest limit: no object may be larger than PTRDIFF_MAX, and twice this is still under
  /// SIZE_MAX.
  static constexpr std::size_t size_limit = static_cast<std::size_t>(-1) / 2;

  /// Makes a buffer for at most `size_max` bytes, and allocates none yet.
  explicit flat_buffer(std::size_t size_max = size_limit) noexcept
      : size_max_(size_max < size_limit ? size_max : size_limit) {}

  /// Copies the bytes and the limit, not the spare room.
  flat_buffer(const flat_buffer& other);
  flat_buffer(flat_buffer&& other) noexcept;
  flat_buffer& operator=(const flat_buffer& other);
  flat_buffer& operator=(flat_buffer&& other) noexcept;
  ~flat_buffer();

  /// Returns room for `n` bytes after the present ones; their values are undetermined. Throws
  /// std::length_error, which names the numbers, if size() + n is more than max_size(),
  /// std::bad_alloc without memory; then nothing has changed.
  mutable_buffer prepare(std::size_t n);
  /// Makes the next `n` bytes of the prepared room part of the buffer. Requires, asserted, that `n`
  /// is at most the number of bytes that were prepared and not yet committed.
  void commit(std::size_t n) noexcept;
  /// Removes `n` bytes at the front, at most all.
  void consume(std::size_t n) noexcept;
  /// Sets the size: adds undetermined bytes, as prepare() and commit(), or removes bytes at the
  /// back.
  void resize(std::size_t n);
  /// Makes room for `capacity` bytes in all, at most max_size(). Throws std::bad_alloc.
  void reserve(std::size_t capacity);
  /// Removes all bytes; keeps the memory.
  void clear() noexcept { begin_ = end_; }
  /// Removes all bytes and frees the memory. Useful for the buffer of a connection that has become
  /// idle.
  void release() noexcept { *this = flat_buffer(size_max_); }

  /// Returns all bytes.
  mutable_buffer data() noexcept { return {memory_ + begin_, size()}; }
  /// As above, only to be read.
  const_buffer data() const noexcept { return {memory_ + begin_, size()}; }
  /// Returns all bytes as text.
  std::string_view view() const noexcept { return {memory_ + begin_, size()}; }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return end_ - begin_; }
  /// Returns whether size() is 0.
  bool empty() const noexcept { return end_ == begin_; }
  /// Returns the bound of size().
  std::size_t max_size() const noexcept { return size_max_; }
  /// Returns the number of bytes allocated, at most twice max_size(): the second half lets a nearly
  /// full buffer consume bytes without moving all of them each time.
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  void make_room(std::size_t n);
  void reallocate(std::size_t capacity);

  char* memory_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t prepared_ = 0;  // bytes after end_ that may still be committed
  std::size_t capacity_ = 0;
  std::size_t size_max_;
};

/// Returns a reference to `buffer`, bounded by its own max_size() and by `size_max`.
dynamic_buffer_ref dynamic_buffer(flat_buffer& buffer,
                                  std::size_t size_max = flat_buffer::size_limit) noexcept;

}  // namespace beck
