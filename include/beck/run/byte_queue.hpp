// SPDX-License-Identifier: BSL-1.0
// The bytes that wait to be sent over a connection. Small texts are copied behind each other into
// recycled blocks; others are kept with the object that owns them. Bytes do not move, so more may
// be added behind those that are being sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <beck/base/buffer.hpp>
#include <beck/detail/block.hpp>

namespace beck {

/// A queue of bytes. Once its blocks are recycled, it allocates nothing. Thread: one at a time.
class byte_queue {
 public:
  /// The greatest argument of prepare().
  static constexpr std::size_t prepare_max = 3072;
  /// The bytes of a block that are allocated.
  static constexpr std::size_t block_bytes = 4096;

  byte_queue() noexcept = default;
  ~byte_queue() { clear(); }
  byte_queue(const byte_queue&) = delete;
  byte_queue& operator=(const byte_queue&) = delete;

  /// Returns the number of bytes.
  std::size_t size() const noexcept { return static_cast<std::size_t>(added_ - removed_); }
  bool empty() const noexcept { return added_ == removed_; }
  /// Returns the number of bytes that were added in all, and of those that were removed.
  std::uint64_t added() const noexcept { return added_; }
  std::uint64_t removed() const noexcept { return removed_; }

  /// Adds a copy of `text`. Throws std::bad_alloc; then nothing has changed.
  void append(std::string_view text);
  /// Makes room for `bytes` bytes, in one or several blocks. Throws std::bad_alloc; then nothing
  /// has changed.
  void reserve(std::size_t bytes);
  /// Adds a copy of `text`. Requires room for it.
  void copy(std::string_view text) noexcept;
  /// Returns the first part of the room, of at least one byte. Requires that there is room.
  mutable_buffer room() noexcept;
  /// Returns contiguous room for `bytes` bytes. Requires bytes <= prepare_max. Throws
  /// std::bad_alloc; then nothing has changed.
  char* prepare(std::size_t bytes);
  /// Adds the first `bytes` bytes of what room() or prepare() has returned.
  void commit(std::size_t bytes) noexcept;

  /// Adds the bytes that `bytes_of` returns for the moved `owner`, without copying them. It is
  /// destroyed once they are removed. Throws std::bad_alloc; then nothing has changed.
  template <class Owner, class BytesOf>
  void append_owned(Owner owner, BytesOf bytes_of) {
    static_assert(std::is_nothrow_move_constructible_v<Owner> && alignof(Owner) <= alignof(piece));
    auto* const made = ::new (detail::allocate_block(sizeof(piece) + sizeof(Owner))) piece;
    const Owner* const there = ::new (static_cast<void*>(made + 1)) Owner(std::move(owner));
    made->destroy = [](piece& of) noexcept { static_cast<Owner*>(of.behind())->~Owner(); };
    const const_buffer bytes = bytes_of(*there);
    made->data = static_cast<const char*>(bytes.data());
    made->end = bytes.size();
    link(made, made);
    fill_ = nullptr;
    added_ += bytes.size();
  }
  /// Moves all bytes of `other` behind those that are here.
  void append(byte_queue& other) noexcept;

  /// Fills `parts` with the first bytes, in at most `parts_max` buffers. Returns their number.
  std::size_t gather(const_buffer* parts, std::size_t parts_max) const noexcept;
  template <std::size_t N>
  std::size_t gather(const_buffer (&parts)[N]) const noexcept {
    return gather(parts, N);
  }
  /// Returns the number of bytes of its blocks; without the bytes that have an owner.
  std::size_t memory() const noexcept;
  /// Removes `bytes` bytes at the front. Requires bytes <= size().
  void remove(std::size_t bytes) noexcept;
  /// Removes everything.
  void clear() noexcept { remove(size()); }

 private:
  /// Bytes in the block behind this object, or those of the object that is there.
  struct piece {
    void* behind() noexcept { return this + 1; }
    std::size_t room() const noexcept { return capacity - end; }

    piece* next = nullptr;
    const char* data = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t capacity = 0;                       // 0: nothing may be added
    void (*destroy)(piece& of) noexcept = nullptr;  // the object
  };

  static constexpr std::size_t block_room = block_bytes - sizeof(piece);

  static piece* make_block();
  static void free_piece(piece* one) noexcept;
  void link(piece* first, piece* last) noexcept;

  piece* first_ = nullptr;
  piece* fill_ = nullptr;  // the block that the next byte is copied to; those behind it are empty
  piece* last_ = nullptr;
  std::uint64_t added_ = 0;
  std::uint64_t removed_ = 0;
};

}  // namespace beck
