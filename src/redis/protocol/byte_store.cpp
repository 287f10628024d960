// SPDX-License-Identifier: BSL-1.0
// Growth by doubling. Memory within the object is never freed and never handed to another object.
#include <beck/redis/byte_store.hpp>

#include <new>

namespace beck::redis::detail {
namespace {

constexpr std::size_t first_allocation = 128;
constexpr std::size_t size_max = static_cast<std::size_t>(-1) / 2;  // as of any object

}  // namespace

void byte_store::grow(std::size_t bytes) {
  if (bytes > size_max - size_) throw std::bad_alloc();
  std::size_t capacity = capacity_ < first_allocation ? first_allocation : capacity_ * 2;
  if (capacity < size_ + bytes) capacity = size_ + bytes;
  char* const memory = new char[capacity];
  if (size_ != 0) std::memcpy(memory, data_, size_);
  free_memory();
  data_ = memory;
  capacity_ = capacity;
}

void byte_store::release() noexcept {
  free_memory();
  data_ = room_;
  capacity_ = room_bytes_;
  size_ = 0;
}

void byte_store::take(byte_store& other) noexcept {
  release();
  if (other.data_ == other.room_) {
    BECK_ASSERT(other.size_ <= capacity_, "bytes were taken from a store with more room");
    if (other.size_ != 0) std::memcpy(data_, other.data_, other.size_);
    size_ = other.size_;
    other.size_ = 0;
    return;
  }
  data_ = other.data_;
  size_ = other.size_;
  capacity_ = other.capacity_;
  other.data_ = other.room_;  // this object owns the memory now
  other.release();
}

void byte_store::copy(const byte_store& other) {
  if (other.size_ > capacity_) {
    char* const memory = new char[other.size_];
    free_memory();
    data_ = memory;
    capacity_ = other.size_;
  }
  if (other.size_ != 0) std::memcpy(data_, other.data_, other.size_);
  size_ = other.size_;
}

}  // namespace beck::redis::detail
