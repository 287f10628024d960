// SPDX-License-Identifier: BSL-1.0
//
// A growing block of bytes. Few bytes lie within the object, so that a short command costs no
// allocation; more of them are on the heap.
#pragma once

#include <beck/base/assert.hpp>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace beck::redis::detail {

/// Growing bytes. Not copyable by itself: small_store is, and knows where its room is. Thread: one
/// at a time. Every growth invalidates the result of view().
class byte_store {
 public:
  /// Makes an empty store without room: the first byte allocates.
  byte_store() noexcept = default;
  byte_store(const byte_store&) = delete;
  byte_store& operator=(const byte_store&) = delete;
  ~byte_store() { free_memory(); }

  /// Adds `bytes` undetermined bytes and returns the first of them. Throws std::bad_alloc; then
  /// nothing has changed.
  char* extend(std::size_t bytes) {
    if (bytes > capacity_ - size_) grow(bytes);
    char* const at = data_ + size_;
    size_ += bytes;
    return at;
  }
  /// Adds a text. Throws std::bad_alloc; then nothing has changed.
  void append(std::string_view text) {
    char* const at = extend(text.size());
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
  }
  /// Drops the bytes from `size` on. Requires, asserted, size <= size().
  void truncate(std::size_t size) noexcept {
    BECK_ASSERT(size <= size_, "a byte_store was truncated to more bytes than it has");
    size_ = size;
  }
  /// Removes all bytes; keeps the memory.
  void clear() noexcept { size_ = 0; }
  /// Removes all bytes and frees the memory.
  void release() noexcept;

  /// Returns the bytes.
  std::string_view view() const noexcept { return {data_, size_}; }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return size_; }
  /// Returns the number of bytes up to which nothing is allocated.
  std::size_t capacity() const noexcept { return capacity_; }

 protected:
  /// Makes an empty store that begins in `bytes` bytes at `room`.
  byte_store(char* room, std::size_t bytes) noexcept
      : data_(room), capacity_(bytes), room_(room), room_bytes_(bytes) {}
  /// Takes the bytes of `other`, which becomes empty.
  void take(byte_store& other) noexcept;
  /// Copies the bytes of `other`. Throws std::bad_alloc; then nothing has changed.
  void copy(const byte_store& other);

 private:
  void grow(std::size_t bytes);
  void free_memory() noexcept {
    if (data_ != room_) delete[] data_;
  }

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  char* room_ = nullptr;  // within the object; data_ until it is too small
  std::size_t room_bytes_ = 0;
};

/// The room of a small_store.
template <std::size_t Room>
struct store_room {
  char bytes[Room];
};
template <>
struct store_room<0> {
  static constexpr char* bytes = nullptr;
};

/// A store with room for Room bytes within itself; 0: none. Copies and moves as a value.
template <std::size_t Room>
class small_store final : store_room<Room>, public byte_store {
 public:
  small_store() noexcept : byte_store(store_room<Room>::bytes, Room) {}
  small_store(const small_store& other) : small_store() { copy(other); }
  // Both have as much room, so nothing is allocated.
  small_store(small_store&& other) noexcept : small_store() {
    if (other.size() != 0) take(other);
  }
  small_store& operator=(const small_store& other) {
    if (this != &other) copy(other);
    return *this;
  }
  small_store& operator=(small_store&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~small_store() = default;
};

}  // namespace beck::redis::detail
