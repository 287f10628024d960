// SPDX-License-Identifier: BSL-1.0
// The received bytes that are not decoded. They are in the buffer that the context has lent; if the
// reader ends before it has decoded them, they move to a block of their own. So a connection that
// is not being read holds no buffer of the context.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/buffer.hpp>
#include <beck/detail/block.hpp>
#include <beck/io/buffer_lease.hpp>

namespace beck::websocket::detail {

/// A queue of bytes that holds one buffer. Thread: one at a time.
class input {
 public:
  input() noexcept = default;
  ~input() { release(); }
  input(const input&) = delete;
  input& operator=(const input&) = delete;

  /// Returns the bytes, which may be changed in place.
  mutable_buffer rest() const noexcept { return {data_ + at_, size_ - at_}; }
  bool empty() const noexcept { return at_ == size_; }
  /// Removes bytes at the front.
  void consume(std::size_t bytes) noexcept {
    BECK_ASSERT(bytes <= size_ - at_, "more input was consumed than there was");
    at_ += bytes;
  }

  /// Takes received bytes. Requires empty().
  void take(buffer_lease&& received) noexcept {
    BECK_ASSERT(empty(), "received bytes were dropped before they were decoded");
    release();
    lease_ = std::move(received);
    data_ = lease_.data();
    size_ = lease_.size();
  }
  /// Copies bytes. Requires empty(). Throws std::bad_alloc.
  void take(std::string_view text) {
    BECK_ASSERT(empty(), "received bytes were dropped before they were decoded");
    release();
    if (text.empty()) return;
    block_ = static_cast<char*>(beck::detail::allocate_block(text.size()));
    data_ = block_;
    size_ = text.size();
    std::memcpy(data_, text.data(), size_);
  }
  /// Moves the bytes out of the lent buffer if memory allows.
  void keep() noexcept {
    if (lease_.empty()) return;
    const std::size_t bytes = size_ - at_;
    if (bytes == 0) return release();
    char* made = nullptr;
    try {
      made = static_cast<char*>(beck::detail::allocate_block(bytes));
    } catch (...) {
      return;  // no memory: keeps the lent buffer
    }
    std::memcpy(made, data_ + at_, bytes);
    release();
    data_ = block_ = made;
    size_ = bytes;
  }
  /// Drops all bytes.
  void release() noexcept {
    lease_.reset();
    if (block_ != nullptr) beck::detail::free_block(std::exchange(block_, nullptr));
    data_ = nullptr;
    at_ = size_ = 0;
  }

 private:
  buffer_lease lease_;
  char* block_ = nullptr;
  char* data_ = nullptr;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

}  // namespace beck::websocket::detail
