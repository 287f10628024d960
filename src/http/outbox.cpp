// SPDX-License-Identifier: BSL-1.0
// The pieces form a list. A piece is a recycled block with the bytes behind its header, or a header
// with a text of its own.
#include "http/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>

namespace beck::http::detail {

using beck::detail::allocate_block;
using beck::detail::free_block;

/// Bytes in a block behind this object, or in `text`.
struct outbox::piece {
  piece* next = nullptr;
  char* data = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t capacity = 0;  // 0: the bytes are those of `text`
  std::string text;

  std::size_t room() const noexcept { return capacity > end ? capacity - end : 0; }
};

namespace {

constexpr std::size_t block_bytes = 4096;  // the largest that is recycled

}  // namespace

outbox::piece* outbox::add_block() {
  static_assert(block_bytes - sizeof(piece) >= reserve_max);
  auto* const made = ::new (allocate_block(block_bytes)) piece;
  made->data = reinterpret_cast<char*>(made + 1);
  made->capacity = block_bytes - sizeof(piece);
  (last_ != nullptr ? last_->next : first_) = made;
  return last_ = made;
}

char* outbox::reserve(std::size_t bytes) {
  BECK_ASSERT(bytes <= reserve_max, "more room than a block of the outbox has");
  if (last_ == nullptr || last_->room() < bytes) add_block();
  return last_->data + last_->end;
}

void outbox::commit(std::size_t bytes) noexcept {
  last_->end += bytes;
  bytes_ += bytes;
}

void outbox::append(std::string_view text) {
  while (!text.empty()) {
    if (last_ == nullptr || last_->room() == 0) add_block();
    const std::size_t copied = std::min(text.size(), last_->room());
    std::memcpy(last_->data + last_->end, text.data(), copied);
    commit(copied);
    text.remove_prefix(copied);
  }
}

void outbox::append_whole(std::string&& text) {
  if (text.empty()) return;
  auto* const made = ::new (allocate_block(sizeof(piece))) piece;
  made->text = std::move(text);
  made->data = made->text.data();
  made->end = made->text.size();
  (last_ != nullptr ? last_->next : first_) = made;
  last_ = made;
  bytes_ += made->end;
}

std::size_t outbox::gather(const_buffer (&parts)[parts_max]) const noexcept {
  std::size_t count = 0;
  for (const piece* at = first_; at != nullptr && count < parts_max; at = at->next) {
    if (at->end != at->begin) parts[count++] = {at->data + at->begin, at->end - at->begin};
  }
  return count;
}

std::size_t outbox::send_now(byte_stream& to, error_code& ec, bool last) noexcept {
  std::size_t all = 0;
  while (!empty()) {
    const_buffer parts[parts_max];
    const std::size_t count = gather(parts);
    std::size_t offered = 0;
    for (std::size_t i = 0; i < count; ++i) offered += parts[i].size();
    const const_buffer_span waiting(parts, count);
    const std::size_t sent = last ? to.write_last(waiting, ec) : to.write_now(waiting, ec);
    all += sent;
    consume(sent);
    if (ec == error::would_block) ec = error_code();
    if (ec || sent < offered) break;
  }
  return all;
}

void outbox::consume(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= bytes_, "more bytes were sent than there were");
  bytes_ -= bytes;
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
  last_ = nullptr;
}

void outbox::clear() noexcept { consume(bytes_); }

}  // namespace beck::http::detail
