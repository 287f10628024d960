// SPDX-License-Identifier: BSL-1.0
// Ranges of bytes: a request's are read, a response's are written.
#include <beck/http/range.hpp>

#include <charconv>
#include <cstring>
#include <system_error>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::string_view part_type_name = "Content-Type: ";
constexpr std::string_view part_range_name = "Content-Range: ";
constexpr std::string_view multipart_type = "multipart/byteranges; boundary=";

/// Reads a number. One that is too large becomes the largest value, which is after the end of every
/// representation.
bool read_offset(std::string_view digits, std::uint64_t& number) noexcept {
  if (digits.empty() || !detail::all_in(digits, detail::is_digit)) return false;
  const std::from_chars_result end =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end.ec != std::errc()) number = ~std::uint64_t{0};
  return true;
}

enum class spec_kind : std::uint8_t { malformed, behind_end, within, whole_of_nothing };

/// Reads "first-last", "first-" or "-bytes".
spec_kind read_spec(std::string_view spec, std::uint64_t size, byte_range& to) noexcept {
  const std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return spec_kind::malformed;
  const std::string_view first = spec.substr(0, dash);
  const std::string_view last = spec.substr(dash + 1);
  if (first.empty()) {
    std::uint64_t bytes = 0;
    if (!read_offset(last, bytes)) return spec_kind::malformed;
    if (bytes == 0) return spec_kind::behind_end;
    if (size == 0) return spec_kind::whole_of_nothing;
    to = {bytes < size ? size - bytes : 0, size - 1};
    return spec_kind::within;
  }
  to.last = ~std::uint64_t{0};
  if (!read_offset(first, to.first) || (!last.empty() && !read_offset(last, to.last)) ||
      to.last < to.first)
    return spec_kind::malformed;
  if (to.first >= size) return spec_kind::behind_end;
  if (to.last >= size) to.last = size - 1;
  return spec_kind::within;
}

bool overlaps_one(const byte_range& range, const byte_range* others, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i)
    if (range.first <= others[i].last && others[i].first <= range.last) return true;
  return false;
}

/// Appends to memory that is large enough.
char* put(char* at, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}
char* put(char* at, std::uint64_t number) noexcept {
  return std::to_chars(at, at + 20, number).ptr;  // 20 digits at most
}

}  // namespace

byte_ranges functions::parse_range(std::string_view value, std::uint64_t size) noexcept {
  BECK_ASSERT(size >> 63 == 0, "a size of 2^63 bytes or more");
  constexpr std::string_view unit = "bytes=";
  if (!detail::equal_in_any_case(value.substr(0, unit.size()), unit)) return {};
  value.remove_prefix(unit.size());
  byte_ranges found;
  unsigned specs = 0;
  while (!value.empty()) {
    const std::string_view spec = detail::take_element(value);
    if (spec.empty()) continue;  // lists may have empty elements
    if (++specs > byte_ranges::ranges_max) return {};
    byte_range& range = found.ranges_[found.count_];
    switch (read_spec(spec, size, range)) {
      case spec_kind::malformed:
      case spec_kind::whole_of_nothing:
        return {};
      case spec_kind::behind_end:
        break;
      case spec_kind::within:
        BECK_ASSERT(range.first <= range.last && range.last < size, "a range outside of its size");
        if (overlaps_one(range, found.ranges_, found.count_)) return {};
        ++found.count_;
        break;
    }
  }
  if (specs == 0) return {};
  found.status_ = found.count_ == 0 ? range_status::unsatisfiable : range_status::partial;
  return found;
}

content_range_text::content_range_text(const byte_range& range, std::uint64_t size) noexcept {
  BECK_ASSERT(range.first <= range.last, "a range that ends before it begins");
  char* at = put(text_, "bytes ");
  at = put(at, range.first);
  at = put(at, "-");
  at = put(at, range.last);
  at = put(at, "/");
  bytes_ = static_cast<std::uint8_t>(put(at, size) - text_);
}

content_range_text::content_range_text(std::uint64_t size) noexcept {
  bytes_ = static_cast<std::uint8_t>(put(put(text_, "bytes */"), size) - text_);
}

multipart_ranges::multipart_ranges(const byte_ranges& ranges, std::uint64_t size,
                                   std::string_view part_type, std::uint64_t random) noexcept
    : ranges_(ranges), size_(size), bytes_(sizeof end_), part_type_(part_type) {
  static_assert(multipart_type.size() + boundary_bytes == sizeof type_);
  BECK_ASSERT(detail::is_field_value(part_type), "a control character in a media type");
  char* at = put(type_, multipart_type);
  for (unsigned i = 0; i < boundary_bytes; ++i)
    at[i] = "0123456789abcdef"[random >> (60 - 4 * i) & 15];
  const std::string_view boundary(at, boundary_bytes);
  put(put(put(end_, "\r\n--"), boundary), "--\r\n");
  for (unsigned i = 0; i < ranges_.size(); ++i) bytes_ += part_head_bytes(i) + ranges_[i].bytes();
}

std::size_t multipart_ranges::part_head_bytes(unsigned i) const noexcept {
  BECK_ASSERT(i < ranges_.size(), "a part that is not there");
  const std::size_t type_bytes =
      part_type_.empty() ? 0 : part_type_name.size() + part_type_.size() + 2;
  return 4 + boundary_bytes + 2 + type_bytes + part_range_name.size() +
         content_range_text(ranges_[i], size_).view().size() + 4;
}

std::string_view multipart_ranges::part_head(unsigned i, mutable_buffer room) const noexcept {
  const std::size_t bytes = part_head_bytes(i);
  if (room.size() < bytes) return {};
  char* const begin = static_cast<char*>(room.data());
  char* at = put(begin, "\r\n--");
  at = put(at, content_type().substr(multipart_type.size()));
  at = put(at, "\r\n");
  if (!part_type_.empty()) at = put(put(put(at, part_type_name), part_type_), "\r\n");
  at = put(put(at, part_range_name), content_range_text(ranges_[i], size_).view());
  at = put(at, "\r\n\r\n");
  BECK_ASSERT(static_cast<std::size_t>(at - begin) == bytes,
              "the head of a part has another length");
  return {begin, bytes};
}

}  // namespace beck::http
