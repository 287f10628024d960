// SPDX-License-Identifier: BSL-1.0
//
// Writes heads of requests and responses into the caller's memory, without I/O and without
// allocations. Names and values are checked: a line end in a value would begin a field, or another
// message, that the program did not intend.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/http/field.hpp>
#include <beck/http/method.hpp>
#include <beck/http/status.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// The reason why a head could not be written.
enum class head_error : std::uint8_t {
  none,
  no_room,    ///< the memory is too small
  bad_start,  ///< a method that is not a token, or a forbidden character in a target or reason
  bad_name,   ///< a field name that is not a token
  bad_value,  ///< a value with CR, LF, NUL or another control character except the tab
};

/// Writes one head: start(), any number of add(), finish(). After the first error the calls do
/// nothing, and finish() returns no text, so an incomplete head is never sent.
/// Thread: one at a time.
class head_writer {
 public:
  /// Writes into `room`, which must outlive the result of finish().
  explicit head_writer(mutable_buffer room) noexcept
      : begin_(static_cast<char*>(room.data())), at_(begin_), end_(begin_ + room.size()) {}

  /// Writes the status line of a response: "HTTP/1.1 200 OK". Without a `reason` it has the
  /// registered phrase.
  head_writer& start(status s, std::string_view reason = {}) noexcept;
  /// Writes the first line of a request: "GET /index.html HTTP/1.1".
  head_writer& start(method m, std::string_view target) noexcept {
    return start(name_of(m), target);
  }
  /// As above, with any method.
  head_writer& start(std::string_view method, std::string_view target) noexcept;

  /// Adds a field. Requires name != field::other, asserted.
  head_writer& add(field name, std::string_view value) noexcept;
  /// Adds a field with a number as its value.
  head_writer& add(field name, std::uint64_t value) noexcept;
  /// Adds a field with any name.
  head_writer& add(std::string_view name, std::string_view value) noexcept;

  /// Writes the empty line. Returns the whole head; an empty text after an error.
  std::string_view finish() noexcept;

  /// Returns the first error; head_error::none if there was none.
  head_error error() const noexcept { return error_; }

 private:
  head_writer& add_line(std::string_view name, std::string_view value) noexcept;
  bool fits(std::size_t bytes) noexcept;
  void put(std::string_view text) noexcept;
  head_writer& fail(head_error why) noexcept;

  char* begin_;
  char* at_;
  char* end_;
  head_error error_ = head_error::none;
};

}  // namespace beck::http
