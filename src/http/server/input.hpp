// SPDX-License-Identifier: BSL-1.0
// The received bytes of a connection that are not consumed. They stay in the lent buffer as long as
// it contains all of them.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/http/parser.hpp>
#include <beck/io/byte_stream.hpp>

namespace beck::http::detail {

/// The received bytes that are not consumed. They lie in the buffer that the context has lent, or
/// in a separate block once more has to be received after them. request_parser::padding bytes after
/// them are readable.
class input {
 public:
  std::string_view view() const noexcept {
    if (!lease_.empty()) return {lease_.data() + at_, lease_.size() - at_};
    return own_.view();
  }
  bool empty() const noexcept { return lease_.empty() && own_.empty(); }
  /// Requires at most as many bytes as there are.
  void consume(std::size_t bytes) noexcept {
    if (lease_.empty()) {
      BECK_ASSERT(bytes <= own_.size(), "more bytes are consumed than were kept");
      return own_.consume(bytes);
    }
    BECK_ASSERT(bytes <= lease_.size() - at_, "more bytes are consumed than were received");
    at_ += bytes;
    if (at_ == lease_.size()) lease_.reset();
  }
  /// Adds received bytes. Throws std::bad_alloc.
  void add(buffer_lease&& received) {
    if (empty()) {
      lease_ = std::move(received);
      at_ = 0;
      return;
    }
    keep();
    append({received.data(), received.size()});
  }
  /// Moves the bytes out of the lent buffer. Throws std::bad_alloc.
  void keep() {
    if (lease_.empty()) return;
    BECK_ASSERT(own_.empty(), "bytes in a block precede those of a lent buffer");
    append(view());
    lease_.reset();
  }
  /// Drops all bytes and frees the memory.
  void release() noexcept {
    lease_.reset();
    own_.release();
  }

 private:
  void append(std::string_view text) {
    const mutable_buffer room = own_.prepare(text.size() + request_parser::padding);
    if (!text.empty()) std::memcpy(room.data(), text.data(), text.size());
    own_.commit(text.size());
  }

  buffer_lease lease_;
  std::size_t at_ = 0;  // consumed bytes of lease_
  flat_buffer own_;
};

}  // namespace beck::http::detail
