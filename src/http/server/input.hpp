// SPDX-License-Identifier: BSL-1.0
// The received bytes of a connection that are not consumed.
#pragma once

#include <cstddef>
#include <string_view>

#include <beck/base/flat_buffer.hpp>
#include <beck/io/byte_stream.hpp>

namespace beck::http::detail {

/// The received bytes that are not consumed. They lie in the buffer that the context has lent, or
/// in a separate block once more has to be received after them. request_parser::padding bytes after
/// them are readable.
class input {
 public:
  std::string_view view() const noexcept {
    if (!lease_.empty()) return {lease_.data() + at_, lease_.size() - at_};
    const const_buffer own = own_.data();
    return {static_cast<const char*>(own.data()), own.size()};
  }
  bool empty() const noexcept { return lease_.empty() && own_.empty(); }
  void consume(std::size_t bytes) noexcept;
  /// Adds received bytes. Throws std::bad_alloc.
  void add(buffer_lease&& received);
  /// Moves the bytes out of the lent buffer. Throws std::bad_alloc.
  void keep();
  /// Drops all bytes and frees the memory.
  void release() noexcept {
    lease_.reset();
    own_.release();
  }

 private:
  void append(std::string_view text);

  buffer_lease lease_;
  std::size_t at_ = 0;  // consumed bytes of lease_
  flat_buffer own_;
};

}  // namespace beck::http::detail
