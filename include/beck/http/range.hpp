// SPDX-License-Identifier: BSL-1.0
//
// Ranges of bytes (RFC 9110, section 14): the Range field of a request, and the texts of a response
// with one range (206 with Content-Range), with several (206, multipart/byteranges) or with none
// that exists (416). Never allocates.
#pragma once

#include <beck/base/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// Bytes of a representation, by the offsets of the first and of the last one.
struct byte_range {
  std::uint64_t first;
  std::uint64_t last;

  /// Returns the number of bytes.
  std::uint64_t bytes() const noexcept { return last - first + 1; }
  friend bool operator==(const byte_range&, const byte_range&) noexcept = default;
};

/// The kind of answer to a Range field.
enum class range_status : std::uint8_t {
  none,           ///< the whole representation: no Range applies
  partial,        ///< 206 with the ranges
  unsatisfiable,  ///< 416: all ranges begin after the end
};

class byte_ranges;

namespace functions {

/// Reads the value of a Range field for a representation of `size` bytes. Ranges that begin after
/// the end are left out, unless all do; the others are cut at the end. Returns range_status::none
/// if the value is empty, of another unit than bytes, or malformed, as the RFC demands. Also
/// returns it for more than byte_ranges::ranges_max ranges and for ranges that overlap, as the RFC
/// allows: otherwise a short request could ask for many times the size of a file. Requires size <
/// 2^63, asserted. An empty representation has no ranges: for "-bytes" the result is
/// range_status::none.
byte_ranges parse_range(std::string_view value, std::uint64_t size) noexcept;

}  // namespace functions
using namespace functions;

/// The ranges that a request asks for, in the order of the request. They lie within the
/// representation and do not overlap. A value; any thread.
class byte_ranges {
 public:
  /// The greatest number of ranges that are answered.
  static constexpr unsigned ranges_max = 8;

  /// Returns the kind of the answer.
  range_status status() const noexcept { return status_; }
  /// Returns the number of ranges; 0 unless status() is range_status::partial.
  unsigned size() const noexcept { return count_; }
  /// Returns range `i`. Requires i < size(); not checked.
  const byte_range& operator[](unsigned i) const noexcept { return ranges_[i]; }
  const byte_range* begin() const noexcept { return ranges_; }
  const byte_range* end() const noexcept { return ranges_ + count_; }

 private:
  friend byte_ranges functions::parse_range(std::string_view value, std::uint64_t size) noexcept;

  byte_range ranges_[ranges_max] = {};
  std::uint8_t count_ = 0;
  range_status status_ = range_status::none;
};

/// The value of a Content-Range field.
class content_range_text {
 public:
  /// Writes "bytes 0-99/1234", for a response with status 206.
  content_range_text(const byte_range& range, std::uint64_t size) noexcept;
  /// Writes "bytes */1234", for a response with status 416.
  explicit content_range_text(std::uint64_t size) noexcept;

  /// Returns the text.
  std::string_view view() const noexcept { return {text_, bytes_}; }
  /// Converts to the text.
  operator std::string_view() const noexcept { return view(); }

 private:
  char text_[68];
  std::uint8_t bytes_ = 0;
};

/// The texts of a response with several ranges, whose body has the type multipart/byteranges: a
/// head before the bytes of each range, and an end after the last one. A value; any thread.
class multipart_ranges {
 public:
  /// Prepares the response for ranges of a representation of `size` bytes. `part_type`: its media
  /// type, repeated in every part; may be empty; must outlive this object. `random` becomes the
  /// boundary between the parts, which must not occur in them: use a number that the author of the
  /// representation cannot guess. Requires a `part_type` without control characters, asserted.
  multipart_ranges(const byte_ranges& ranges, std::uint64_t size, std::string_view part_type,
                   std::uint64_t random) noexcept;

  /// Returns the Content-Type of the response, "multipart/byteranges; boundary=...".
  std::string_view content_type() const noexcept { return {type_, sizeof type_}; }
  /// Returns the Content-Length of the response: the sum of all heads, ranges and the end.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns the number of bytes of part_head(i). Requires i < ranges.size(), asserted.
  std::size_t part_head_bytes(unsigned i) const noexcept;
  /// Writes the boundary and the fields before the bytes of range `i` into `room`. Returns the text
  /// in `room`; empty if `room` is too small. Requires i < ranges.size(), asserted.
  std::string_view part_head(unsigned i, mutable_buffer room) const noexcept;
  /// Returns the boundary that follows the bytes of the last range.
  std::string_view end_text() const noexcept { return {end_, sizeof end_}; }

 private:
  static constexpr std::size_t boundary_bytes = 16;

  byte_ranges ranges_;
  std::uint64_t size_;
  std::uint64_t bytes_;
  std::string_view part_type_;
  char type_[31 + boundary_bytes];
  char end_[8 + boundary_bytes];
};

}  // namespace beck::http
