// SPDX-License-Identifier: BSL-1.0
// The pieces form a list. A piece is a recycled block with the bytes behind its header, or a header
// that refers to a message. All blocks of a frame are there before its first byte is copied.
#include "websocket/frame_queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>

namespace beck::websocket::detail {

using beck::detail::allocate_block;
using beck::detail::free_block;

/// Bytes in a block behind this object, or in `shared`.
struct frame_queue::piece {
  piece* next = nullptr;
  const char* data = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t capacity = 0;  // 0: the bytes are those of `shared`
  message shared;

  char* own() noexcept { return reinterpret_cast<char*>(this + 1); }
};

namespace {

constexpr std::size_t piece_bytes = 4096;  // the largest that is recycled

}  // namespace

std::size_t frame_queue::room() const noexcept {
  return last_ != nullptr && last_->capacity != 0 ? last_->capacity - last_->end : 0;
}

void frame_queue::link(piece* first, piece* last) noexcept {
  (last_ != nullptr ? last_->next : first_) = first;
  last_ = last;
}

void frame_queue::add(const_buffer head, const_buffer data, const mask_key* key) {
  constexpr std::size_t capacity = piece_bytes - sizeof(piece);
  const std::size_t bytes = head.size() + data.size();
  piece* first = nullptr;
  piece* last = nullptr;
  for (std::size_t there = room(); there < bytes; there += capacity) {
    void* block = nullptr;
    try {
      block = allocate_block(piece_bytes);
    } catch (...) {
      while (first != nullptr) {
        piece* const next = first->next;
        first->~piece();
        free_block(first);
        first = next;
      }
      throw;
    }
    auto* const made = ::new (block) piece;
    made->data = made->own();
    made->capacity = capacity;
    (last != nullptr ? last->next : first) = made;
    last = made;
  }
  fill_ = room() != 0 ? last_ : first;
  if (first != nullptr) link(first, last);
  copy(head, nullptr);
  copy(data, key);
}

/// Copies bytes into the pieces from fill_ on, which have room for them.
void frame_queue::copy(const_buffer from, const mask_key* key) noexcept {
  std::uint64_t offset = 0;
  while (from.size() != 0) {
    if (fill_->end == fill_->capacity) fill_ = fill_->next;
    char* const to = fill_->own() + fill_->end;
    const std::size_t bytes = std::min(from.size(), fill_->capacity - fill_->end);
    std::memcpy(to, from.data(), bytes);
    if (key != nullptr) apply_mask(to, bytes, *key, offset);
    fill_->end += bytes;
    added_ += bytes;
    offset += bytes;
    from += bytes;
  }
}

void frame_queue::add(const message& shared) {
  auto* const made = ::new (allocate_block(sizeof(piece))) piece;
  made->shared = shared;
  const const_buffer frame = shared.frame();
  made->data = static_cast<const char*>(frame.data());
  made->end = frame.size();
  link(made, made);
  added_ += frame.size();
}

void frame_queue::append(frame_queue& other) noexcept {
  if (other.first_ == nullptr) return;
  link(other.first_, other.last_);
  added_ += other.size();
  other.removed_ = other.added_;
  other.first_ = other.last_ = other.fill_ = nullptr;
}

std::size_t frame_queue::gather(const_buffer* parts) const noexcept {
  std::size_t count = 0;
  for (const piece* at = first_; at != nullptr && count < parts_max; at = at->next) {
    if (at->end != at->begin) parts[count++] = {at->data + at->begin, at->end - at->begin};
  }
  return count;
}

void frame_queue::remove(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= size(), "more bytes were sent than there were");
  removed_ += bytes;
  while (first_ != nullptr) {
    const std::size_t here = std::min(bytes, first_->end - first_->begin);
    first_->begin += here;
    bytes -= here;
    if (first_->begin != first_->end) return;
    piece* const sent = first_;
    first_ = sent->next;
    sent->~piece();
    free_block(sent);
  }
  last_ = fill_ = nullptr;
}

}  // namespace beck::websocket::detail
