// SPDX-License-Identifier: BSL-1.0
// Writes tokens as the bytes that they were parsed from: the parser takes only the shortest form of
// each number, so there is one way.
#include <beck/redis/raw_reply.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace {

constexpr std::string_view line_end = "\r\n";

/// Returns the first byte of an element.
char sign_of(data_type type) noexcept {
  constexpr std::string_view signs = "_+-:$#,(!=*~%|>.";  // in the order of data_type
  return signs[static_cast<std::size_t>(type)];
}

}  // namespace

void raw_reply::append(const token& next) {
  const char sign = sign_of(next.type);
  switch (next.type) {
    case data_type::null:
      return next.format[0] == '\0' ? add_line(sign, {}) : add_line(next.format[0], "-1");
    case data_type::simple_string:
    case data_type::simple_error:
    case data_type::double_number:
    case data_type::big_number:
    case data_type::end:
      return add_line(sign, next.text);
    case data_type::boolean:
      return add_line(sign, next.number != 0 ? "t" : "f");
    case data_type::integer:
    case data_type::array:
    case data_type::set:
    case data_type::push:
      return add_head(sign, next.number);
    case data_type::map:
    case data_type::attribute:
      return add_head(sign, next.number == unknown_size ? unknown_size : next.number / 2);
    case data_type::bulk_string:
    case data_type::bulk_error:
    case data_type::verbatim:
      return add_text(next);
  }
}

void raw_reply::add_line(char sign, std::string_view text) {
  bytes_.append({&sign, 1});
  bytes_.append(text);
  bytes_.append(line_end);
}

/// Adds a line with a number, or the "?" of an aggregate without a size.
void raw_reply::add_head(char sign, std::int64_t number) {
  if (sign != ':' && number == unknown_size) return add_line(sign, "?");
  add_line(sign, detail::number_text(static_cast<long long>(number)).view());
}

/// Adds a text, or a part of one.
void raw_reply::add_text(const token& next) {
  const bool begins = next.part == text_part::whole || next.part == text_part::first;
  if (begins) is_streamed_ = next.number == unknown_size;
  if (is_streamed_) {
    if (begins) add_line(sign_of(next.type), "?");
    add_part(next.text);
    if (next.ends_text()) bytes_.append(";0\r\n");
    return;
  }
  if (begins) {
    const bool has_format = next.type == data_type::verbatim;
    add_head(sign_of(next.type), next.number + (has_format ? 4 : 0));
    if (has_format) {
      bytes_.append({next.format, sizeof next.format});
      bytes_.append(":");
    }
  }
  bytes_.append(next.text);
  if (next.ends_text()) bytes_.append(line_end);
}

/// Adds a part of a streamed text; an empty one would end it.
void raw_reply::add_part(std::string_view text) {
  if (text.empty()) return;
  add_head(';', static_cast<std::int64_t>(text.size()));
  bytes_.append(text);
  bytes_.append(line_end);
}

}  // namespace beck::redis
