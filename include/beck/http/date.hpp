// SPDX-License-Identifier: BSL-1.0
//
// Dates of HTTP (RFC 9110, section 5.6.7). Points in time are seconds since 1970-01-01 00:00 UTC,
// without leap seconds, as time(2) counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// A date as text, "Sun, 06 Nov 1994 08:49:37 GMT".
class date_text {
 public:
  static constexpr std::size_t bytes = 29;

  /// Writes the date of `seconds`. Dates before the year 1 or after 9999 become the first or the
  /// last second of that range.
  explicit date_text(std::int64_t seconds) noexcept;

  /// Returns the text.
  std::string_view view() const noexcept { return {text_, bytes}; }
  /// Converts to the text.
  operator std::string_view() const noexcept { return view(); }

 private:
  char text_[bytes];
};

namespace functions {

/// Reads a date in one of the three forms that servers and clients have to understand: as above,
/// "Sunday, 06-Nov-94 08:49:37 GMT", and "Sun Nov  6 08:49:37 1994". Two digits of a year mean the
/// latest such year that is at most 50 years after `now`. The second may be 60.
/// Returns whether `text` is such a date; `seconds` is set only then. The day of the week must be a
/// valid name, and is not compared with the date.
bool parse_date(std::string_view text, std::int64_t now, std::int64_t& seconds) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
