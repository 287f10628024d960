// SPDX-License-Identifier: BSL-1.0
// The parser of replies, the careful way: the line that begins an element. It is searched once,
// however it arrives, and judged when it is whole, so an error does not depend on how it arrived.
#include <algorithm>

#include "redis/protocol/number_text.hpp"
#include "redis/protocol/parse_cursor.hpp"

namespace beck::redis {
namespace {

using namespace detail;

struct typed_head {
  head_kind kind = head_kind::none;
  data_type type = data_type::null;
  bool is_resp2 = false;
};

/// Returns the kind and type of the element that begins with the byte `first`.
constexpr typed_head head_of(char first) noexcept {
  switch (first) {
    case '+':
      return {head_kind::line, data_type::simple_string, true};
    case '-':
      return {head_kind::line, data_type::simple_error, true};
    case ':':
      return {head_kind::integer, data_type::integer, true};
    case '$':
      return {head_kind::text, data_type::bulk_string, true};
    case '*':
      return {head_kind::aggregate, data_type::array, true};
    case '_':
      return {head_kind::null, data_type::null};
    case '#':
      return {head_kind::boolean, data_type::boolean};
    case ',':
      return {head_kind::number, data_type::double_number};
    case '(':
      return {head_kind::number, data_type::big_number};
    case '!':
      return {head_kind::text, data_type::bulk_error};
    case '=':
      return {head_kind::text, data_type::verbatim};
    case '~':
      return {head_kind::aggregate, data_type::set};
    case '%':
      return {head_kind::aggregate, data_type::map};
    case '|':
      return {head_kind::aggregate, data_type::attribute};
    case '>':
      return {head_kind::aggregate, data_type::push};
    case '.':
      return {head_kind::end, data_type::end};
    case ';':
      return {head_kind::part, data_type::bulk_string};
    default:
      return {};
  }
}

/// The bytes of the longest number, which is outside 64 bits: a minus and twenty digits.
constexpr std::uint64_t number_bytes_max = 21;

/// Returns how many bytes the line of a head may have. `text`: if it is any text.
constexpr std::uint64_t line_bytes_max(head_kind kind, std::uint64_t text) noexcept {
  if (kind == head_kind::line || kind == head_kind::number) return text;
  if (kind == head_kind::boolean) return 1;
  return kind == head_kind::null || kind == head_kind::end ? 0 : number_bytes_max;
}

/// Returns whether a type has a streamed form.
constexpr bool may_be_streamed(data_type type) noexcept {
  return type == data_type::bulk_string || type == data_type::array || type == data_type::set ||
         type == data_type::map;
}

}  // namespace

reply_parser::verdict reply_parser::want(std::size_t bytes) noexcept {
  needed_ = bytes;
  return verdict::more;
}

reply_parser::verdict reply_parser::refuse(const cursor& c, protocol_error why,
                                           const char* at) noexcept {
  stage_ = stage::refused;
  reason_ = why;
  error_offset_ = place_of(c, at);
  return verdict::refused;
}

protocol_error reply_parser::size_error() const noexcept {
  return in_push_ ? protocol_error::push_too_large : protocol_error::reply_too_large;
}

/// Reads the line that begins an element, and takes it.
reply_parser::verdict reply_parser::read_element(cursor& c) noexcept {
  if (c.at == c.end) return want(1);
  const typed_head found = head_of(*c.at);
  if (found.kind == head_kind::none || (version_ == protocol::resp2 && !found.is_resp2))
    return refuse(c, protocol_error::unknown_type, c.at);
  if (found.kind == head_kind::part) return refuse(c, protocol_error::unexpected_part, c.at);
  std::string_view line;
  const verdict state = find_line(c, found.kind, line);
  if (state != verdict::again) return state;
  const bool is_counted = stack_[depth_].is_streamed && found.kind != head_kind::end &&
                          found.type != data_type::attribute && found.type != data_type::push;
  if (is_counted) {
    if (elements_ == limits_.elements) return refuse(c, protocol_error::too_many_elements, c.at);
    ++elements_;
  }
  if (found.kind == head_kind::end) return take_end(c, line.data() + line.size() + 2);
  const bool has_length = found.kind == head_kind::text || found.kind == head_kind::aggregate;
  return has_length ? take_length(c, found.type, line) : take_scalar(c, found.type, line);
}

/// Finds the line that begins at the cursor: without its first byte and its CR LF. Bytes that were
/// searched before are not searched again.
reply_parser::verdict reply_parser::find_line(const cursor& c, detail::head_kind kind,
                                              std::string_view& line) noexcept {
  const std::uint64_t allowed = limit_end_ - place_of(c, c.at);
  if (allowed < 3) return refuse(c, size_error(), c.at);
  const auto text_bytes_max = std::min<std::uint64_t>(limits_.line_bytes, allowed - 3);
  const std::uint64_t most = line_bytes_max(kind, text_bytes_max);
  const std::uint64_t longest = std::min<std::uint64_t>(c.available(), most + 2);
  const char* const last = c.at + longest;
  const char* const from = std::min(c.at + std::max<std::uint32_t>(searched_, 1), last);
  const char* const found = find_line_end(from, last);
  examined_ += static_cast<std::uint64_t>(found - from);
  line = {c.at + 1, static_cast<std::size_t>(found - c.at - 1)};
  if (found == last && longest == most + 2) return refuse_long_line(c, kind, line);
  if (found != last && *found == '\n') return refuse(c, protocol_error::bad_line_end, found);
  if (found == last || c.end - found < 2) {
    searched_ = static_cast<std::uint32_t>(found - c.at);
    return want(1);
  }
  if (found[1] != '\n') return refuse(c, protocol_error::bad_line_end, found + 1);
  if (line.size() > allowed - 3) return refuse(c, size_error(), c.at);
  searched_ = 0;
  return verdict::again;
}

/// Refuses a line that is longer than its kind allows. `line` is the part that shows it.
reply_parser::verdict reply_parser::refuse_long_line(const cursor& c, detail::head_kind kind,
                                                     std::string_view line) noexcept {
  if (kind == head_kind::line || kind == head_kind::number) {
    const bool is_long = line.size() > limits_.line_bytes;
    return refuse(c, is_long ? protocol_error::line_too_long : size_error(), c.at);
  }
  if (kind == head_kind::null) return refuse(c, protocol_error::bad_null, c.at + 1);
  if (kind == head_kind::boolean) return refuse(c, protocol_error::bad_boolean, c.at + 2);
  if (kind == head_kind::end) return refuse(c, protocol_error::bad_line_end, c.at + 1);
  std::int64_t number = 0;
  return refuse_number(c, read_integer(line, number), line);
}

/// Writes the token of an element that is one line.
reply_parser::verdict reply_parser::take_scalar(cursor& c, data_type type,
                                                std::string_view line) noexcept {
  std::int64_t number = 0;
  double real = 0;
  number_fault fault;
  if (type == data_type::integer) fault = read_integer(line, number);
  if (type == data_type::big_number) fault = check_big_number(line);
  if (type == data_type::double_number) {
    fault = read_double(line, real);
    number = std::bit_cast<std::int64_t>(real);
  }
  if (type == data_type::boolean) {
    number = line == "t" ? 1 : 0;
    if (line != "t" && line != "f") fault = {true, protocol_error::bad_boolean, 0};
  }
  if (fault.is_bad) return refuse_number(c, fault, line);
  token& made = make(c, type);
  const bool has_text = type != data_type::integer && type != data_type::boolean;
  if (has_text) made.text = line;
  made.number = number;
  end_scalar(c, made, line.data() + line.size() + 2);
  return verdict::again;
}

/// Takes the head of a text or of an aggregate.
reply_parser::verdict reply_parser::take_length(cursor& c, data_type type,
                                                std::string_view line) noexcept {
  const char* const behind = line.data() + line.size() + 2;
  if (line == "?" && version_ == protocol::resp3 && may_be_streamed(type)) {
    if (type == data_type::bulk_string) return begin_streamed_text(c, behind);
    return begin_aggregate(c, type, 0, true, behind);
  }
  if (line == "-1" && (type == data_type::bulk_string || type == data_type::array)) {
    token& made = make(c, data_type::null);
    made.format[0] = type == data_type::array ? '*' : '$';
    end_scalar(c, made, behind);
    return verdict::again;
  }
  std::uint64_t size = 0;
  const verdict state = read_size(c, line, size);
  if (state != verdict::again) return state;
  return is_aggregate(type) ? begin_aggregate(c, type, size, false, behind)
                            : begin_text(c, type, size, behind);
}

/// Reads a length that is not negative.
reply_parser::verdict reply_parser::read_size(const cursor& c, std::string_view line,
                                              std::uint64_t& to) noexcept {
  if (line.starts_with('-')) return refuse(c, protocol_error::bad_length, c.at + 1);
  std::int64_t number = 0;
  const number_fault fault = read_integer(line, number);
  if (fault.is_bad) return refuse_number(c, fault, line);
  to = static_cast<std::uint64_t>(number);
  return verdict::again;
}

/// Refuses a number. One that is too large has no wrong byte, so the place of its
/// element is named.
reply_parser::verdict reply_parser::refuse_number(const cursor& c,
                                                  const detail::number_fault& fault,
                                                  std::string_view line) noexcept {
  const bool is_limit = fault.reason == protocol_error::number_too_large;
  return refuse(c, fault.reason, is_limit ? c.at : line.data() + fault.place);
}

/// Takes the "." that ends a streamed aggregate.
reply_parser::verdict reply_parser::take_end(cursor& c, const char* behind) noexcept {
  const frame& ended = stack_[depth_];
  if (!ended.is_streamed) return refuse(c, protocol_error::unexpected_end, c.at);
  if (is_attributed_) return refuse(c, protocol_error::dangling_attribute, c.at);
  if (ended.type == data_type::map && ended.left % 2 != 0)
    return refuse(c, protocol_error::odd_map, c.at);
  token& made = make(c, data_type::end);
  --made.depth;
  c.at = behind;
  if (!pop(c, made)) end_element(c, made);
  return verdict::again;
}

/// Prepares for a push, which the cursor is at and whose head ends before `behind`.
reply_parser::verdict reply_parser::begin_push(const cursor& c, const char* behind) noexcept {
  std::uint64_t begin = place_of(c, c.at);
  if (depth_ == 0) {
    begin = limit_end_ - limits_.reply_bytes;  // an attribute may have come before
  } else {
    const data_type around = stack_[depth_].type;
    const bool may_be_here = pushes_inside_ && !in_push_ && around < data_type::attribute;
    if (!may_be_here) return refuse(c, protocol_error::unexpected_push, c.at);
    outer_end_ = limit_end_;
    push_depth_ = depth_;
  }
  in_push_ = true;
  limit_end_ = std::min(limit_end_, begin + limits_.push_bytes);
  if (place_of(c, behind) > limit_end_) return refuse(c, protocol_error::push_too_large, c.at);
  return verdict::again;
}

/// Takes the head of an aggregate; `size` counts pairs where it has such.
reply_parser::verdict reply_parser::begin_aggregate(cursor& c, data_type type, std::uint64_t size,
                                                    bool is_streamed, const char* behind) noexcept {
  const bool has_pairs = type == data_type::map || type == data_type::attribute;
  if (depth_ >= limits_.depth) return refuse(c, protocol_error::too_deep, c.at);
  if (type == data_type::push) {
    const verdict state = begin_push(c, behind);
    if (state != verdict::again) return state;
  }
  // Elements that no aggregate has counted are counted here.
  const std::uint32_t uncounted =
      type == data_type::attribute || (type == data_type::push && depth_ != 0) ? 1 : 0;
  const std::uint32_t free = limits_.elements - elements_;
  if (uncounted > free || size > (free - uncounted) / (has_pairs ? 2 : 1))
    return refuse(c, protocol_error::too_many_elements, c.at);
  const auto elements = static_cast<std::uint32_t>(has_pairs ? size * 2 : size);
  elements_ += elements + uncounted;
  token& made = make(c, type);
  made.number = is_streamed ? unknown_size : elements;
  c.at = behind;
  stack_[++depth_] = {elements, type, is_streamed};
  if (elements == 0 && !is_streamed && !pop(c, made)) end_element(c, made);
  return verdict::again;
}

}  // namespace beck::redis
