// SPDX-License-Identifier: BSL-1.0
// The pieces form a list. All blocks that a text needs are there before its first byte is copied.
#include <beck/run/byte_queue.hpp>

#include <algorithm>
#include <cstring>

#include <beck/base/assert.hpp>

namespace beck {
using detail::allocate_block;
using detail::free_block;

byte_queue::piece* byte_queue::make_block() {
  static_assert(block_room >= prepare_max);
  auto* const made = ::new (allocate_block(block_bytes)) piece;
  made->data = static_cast<const char*>(made->behind());
  made->capacity = block_room;
  return made;
}

void byte_queue::free_piece(piece* one) noexcept {
  if (one->destroy != nullptr) one->destroy(*one);
  free_block(one);
}

void byte_queue::link(piece* first, piece* last) noexcept {
  (last_ != nullptr ? last_->next : first_) = first;
  last_ = last;
}

void byte_queue::append(std::string_view text) {
  if (text.empty()) return;
  if (fill_ == nullptr || fill_->room() < text.size()) {
    reserve(text.size());
    return copy(text);
  }
  std::memcpy(static_cast<char*>(fill_->behind()) + fill_->end, text.data(), text.size());
  commit(text.size());
}

void byte_queue::reserve(std::size_t bytes) {
  std::size_t there = 0;
  for (const piece* at = fill_; at != nullptr && there < bytes; at = at->next) there += at->room();
  piece* first = nullptr;
  piece* last = nullptr;
  for (; there < bytes; there += block_room) {
    piece* made = nullptr;
    try {
      made = make_block();
    } catch (...) {
      while (first != nullptr) free_piece(std::exchange(first, first->next));
      throw;
    }
    (last != nullptr ? last->next : first) = made;
    last = made;
  }
  if (first == nullptr) return;
  link(first, last);
  if (fill_ == nullptr) fill_ = first;
}

mutable_buffer byte_queue::room() noexcept {
  while (fill_->room() == 0) fill_ = fill_->next;
  return {static_cast<char*>(fill_->behind()) + fill_->end, fill_->room()};
}

void byte_queue::copy(std::string_view text) noexcept {
  while (!text.empty()) {
    const mutable_buffer to = room();
    const std::size_t bytes = std::min(text.size(), to.size());
    std::memcpy(to.data(), text.data(), bytes);
    commit(bytes);
    text.remove_prefix(bytes);
  }
}

char* byte_queue::prepare(std::size_t bytes) {
  BECK_ASSERT(bytes <= prepare_max, "more room than a block of a byte_queue has");
  while (fill_ != nullptr && fill_->room() < bytes && fill_->next != nullptr) fill_ = fill_->next;
  if (fill_ == nullptr || fill_->room() < bytes) {
    piece* const made = make_block();
    link(made, made);
    fill_ = made;
  }
  return static_cast<char*>(fill_->behind()) + fill_->end;
}

void byte_queue::commit(std::size_t bytes) noexcept {
  fill_->end += bytes;
  added_ += bytes;
}

void byte_queue::append(byte_queue& other) noexcept {
  if (other.first_ == nullptr) return;
  link(other.first_, other.last_);
  fill_ = other.fill_;
  added_ += other.size();
  other.removed_ = other.added_;
  other.first_ = other.fill_ = other.last_ = nullptr;
}

std::size_t byte_queue::gather(const_buffer* parts, std::size_t parts_max) const noexcept {
  std::size_t count = 0;
  for (const piece* at = first_; at != nullptr && count < parts_max; at = at->next) {
    if (at->end != at->begin) parts[count++] = {at->data + at->begin, at->end - at->begin};
  }
  return count;
}

std::size_t byte_queue::memory() const noexcept {
  std::size_t blocks = 0;
  for (const piece* at = first_; at != nullptr; at = at->next) blocks += at->capacity != 0 ? 1 : 0;
  return blocks * block_bytes;
}

void byte_queue::remove(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= size(), "more bytes were removed from a byte_queue than there were");
  removed_ += bytes;
  while (first_ != nullptr) {
    const std::size_t here = std::min(bytes, first_->end - first_->begin);
    first_->begin += here;
    bytes -= here;
    if (first_->begin != first_->end) return;
    free_piece(std::exchange(first_, first_->next));
  }
  fill_ = last_ = nullptr;
}

}  // namespace beck
