// SPDX-License-Identifier: BSL-1.0
// Each function writes its element with one growth of the store.
#include <beck/redis/reply_writer.hpp>

#include <cmath>
#include <cstring>

#include <beck/base/assert.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace {

using detail::number_text;

constexpr std::string_view line_end = "\r\n";

char* put(char* to, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

bool is_integer(std::string_view text) noexcept { return !detail::check_big_number(text).is_bad; }

}  // namespace

/// Writes a line, without line ends in its text.
reply_writer& reply_writer::line(char kind, std::string_view text) {
  char* const begin = bytes_.extend(1 + text.size() + line_end.size());
  *begin = kind;
  char* const end = put(begin + 1, text);
  for (char* at = begin + 1; at != end; ++at)
    if (*at == '\r' || *at == '\n') *at = ' ';
  put(end, line_end);
  return *this;
}

/// Writes a text behind its length, with the format and ":" in front of it if there is one.
reply_writer& reply_writer::text(char kind, std::string_view format, std::string_view text) {
  const std::size_t more = format.empty() ? 0 : format.size() + 1;
  const number_text length(text.size() + more);
  const std::size_t head = 1 + length.view().size() + line_end.size();
  char* at = bytes_.extend(head + more + text.size() + line_end.size());
  *at++ = kind;
  at = put(at, length.view());
  at = put(at, line_end);
  if (!format.empty()) {
    at = put(at, format);
    *at++ = ':';
  }
  at = put(at, text);
  put(at, line_end);
  return *this;
}

reply_writer& reply_writer::head(char kind, char in_resp2, std::size_t number) {
  return line(is_resp3() ? kind : in_resp2, number_text(number).view());
}

reply_writer& reply_writer::simple(std::string_view text) { return line('+', text); }

reply_writer& reply_writer::error(std::string_view text) { return line('-', text); }

reply_writer& reply_writer::bulk_error(std::string_view bytes) {
  return is_resp3() ? text('!', {}, bytes) : line('-', bytes);
}

reply_writer& reply_writer::integer(long long number) {
  return line(':', number_text(number).view());
}

reply_writer& reply_writer::bulk(std::string_view bytes) { return text('$', {}, bytes); }

reply_writer& reply_writer::null() { return is_resp3() ? line('_', {}) : line('$', "-1"); }

reply_writer& reply_writer::null_array() { return is_resp3() ? line('_', {}) : line('*', "-1"); }

reply_writer& reply_writer::boolean(bool truth) {
  return is_resp3() ? line('#', truth ? "t" : "f") : line(':', truth ? "1" : "0");
}

reply_writer& reply_writer::real(double number) {
  std::string_view written = "nan";  // a NaN has no sign and no payload here
  const number_text shortest(number);
  if (!std::isnan(number)) written = shortest.view();
  return is_resp3() ? line(',', written) : bulk(written);
}

reply_writer& reply_writer::big_number(std::string_view number) {
  BECK_ASSERT(is_integer(number), "a big number is an integer in its shortest form");
  return is_resp3() ? line('(', number) : bulk(number);
}

reply_writer& reply_writer::verbatim(std::string_view format, std::string_view bytes) {
  BECK_ASSERT(format.size() == 3, "the format of a verbatim text has three bytes");
  return is_resp3() ? text('=', format, bytes) : bulk(bytes);
}

reply_writer& reply_writer::map(std::size_t pairs) {
  BECK_ASSERT(pairs <= static_cast<std::size_t>(-1) / 2, "a map has too many pairs");
  return head('%', '*', is_resp3() ? pairs : pairs * 2);
}

reply_writer& reply_writer::attribute(std::size_t pairs) {
  BECK_ASSERT(is_resp3(), "RESP2 has no attributes");
  return head('|', '|', pairs);
}

reply_writer& reply_writer::begin_streamed_text() {
  BECK_ASSERT(is_resp3(), "RESP2 has no streamed texts");
  return line('$', "?");
}

reply_writer& reply_writer::streamed_part(std::string_view part) {
  BECK_ASSERT(is_resp3(), "RESP2 has no streamed texts");
  return part.empty() ? *this : text(';', {}, part);
}

reply_writer& reply_writer::end_streamed_text() {
  BECK_ASSERT(is_resp3(), "RESP2 has no streamed texts");
  return line(';', "0");
}

reply_writer& reply_writer::begin_streamed(data_type kind) {
  BECK_ASSERT(is_resp3(), "RESP2 has no streamed aggregates");
  switch (kind) {
    case data_type::array:
      return line('*', "?");
    case data_type::set:
      return line('~', "?");
    case data_type::map:
      return line('%', "?");
    case data_type::push:
    case data_type::attribute:
    case data_type::null:
    case data_type::simple_string:
    case data_type::simple_error:
    case data_type::integer:
    case data_type::bulk_string:
    case data_type::boolean:
    case data_type::double_number:
    case data_type::big_number:
    case data_type::bulk_error:
    case data_type::verbatim:
    case data_type::end:
      break;
  }
  BECK_ASSERT(false, "only arrays, sets and maps are streamed element by element");
  return *this;
}

reply_writer& reply_writer::end_streamed() {
  BECK_ASSERT(is_resp3(), "RESP2 has no streamed aggregates");
  return line('.', {});
}

}  // namespace beck::redis
