// SPDX-License-Identifier: BSL-1.0
// The parser of replies: its calls, and the quick way. Elements that are whole and plainly good are
// taken there, without touching the members; everything else, errors too, goes the careful way
// (reply_parser_steps.cpp), which begins anew at the same byte.
#include <beck/base/assert.hpp>

#include "redis/protocol/number_text.hpp"
#include "redis/protocol/parse_cursor.hpp"

namespace beck::redis {
namespace {

using namespace detail;

/// Returns the type that a first byte names, where the quick way knows it.
constexpr data_type type_of(char first) noexcept {
  switch (first) {
    case '+':
      return data_type::simple_string;
    case '-':
      return data_type::simple_error;
    case '~':
      return data_type::set;
    case '%':
      return data_type::map;
    default:
      return data_type::array;
  }
}

/// Reads "$n" and the text behind it. Returns the place behind both.
const char* read_plain_bulk(const char* at, const char* end, token& to) noexcept {
  std::uint32_t bytes = 0;
  const char* const text = read_plain_length(at + 1, end, bytes);
  if (text == nullptr || static_cast<std::size_t>(end - text) < bytes + std::size_t{2})
    return nullptr;
  const char* const behind = text + bytes;
  if (behind[0] != '\r' || behind[1] != '\n') return nullptr;
  to.type = data_type::bulk_string;
  to.text = {text, bytes};
  to.number = bytes;
  return behind + 2;
}

/// Reads a simple string or error. Returns the place behind it.
const char* read_plain_line(const char* at, const char* end, std::uint32_t most,
                            token& to) noexcept {
  const char* const found = find_line_end(at + 1, end);
  if (end - found < 2 || found[0] != '\r' || found[1] != '\n') return nullptr;
  to.text = {at + 1, static_cast<std::size_t>(found - at - 1)};
  to.number = 0;
  return to.text.size() <= most ? found + 2 : nullptr;
}

/// Reads "_", "#t" or "#f". Returns the place behind it.
const char* read_plain_word(const char* at, const char* end, token& to) noexcept {
  const bool is_null = *at == '_';
  if (!is_null && at[1] != 't' && at[1] != 'f') return nullptr;
  const char* const behind = at + (is_null ? 1 : 2);
  if (end - behind < 2 || behind[0] != '\r' || behind[1] != '\n') return nullptr;
  to.text = {};
  to.number = !is_null && at[1] == 't' ? 1 : 0;
  return behind + 2;
}

/// Reads a double. Returns the place behind it.
const char* read_plain_real(const char* at, const char* end, std::uint32_t most,
                            token& to) noexcept {
  double real = 0;
  const char* const behind = read_plain_double(at + 1, end, real);
  if (behind == nullptr) return nullptr;
  to.text = {at + 1, static_cast<std::size_t>(behind - at - 3)};
  to.number = std::bit_cast<std::int64_t>(real);
  return to.text.size() <= most ? behind : nullptr;
}

struct plain_rules {
  std::uint32_t line_bytes;
  bool is_resp3;
};

/// Reads an element: its type, number and text, or of an aggregate the number of its `elements`.
/// Returns the place behind it, or behind the head of an aggregate. Requires four bytes.
const char* read_plain(const char* at, const char* end, plain_rules rules, token& to,
                       std::uint32_t& elements) noexcept {
  const char first = *at;
  switch (first) {
    case ':':
      to.type = data_type::integer;
      to.text = {};
      return read_plain_integer(at + 1, end, to.number);
    case '+':
    case '-':
      to.type = type_of(first);
      return read_plain_line(at, end, rules.line_bytes, to);
    case ',':
      to.type = data_type::double_number;
      return rules.is_resp3 ? read_plain_real(at, end, rules.line_bytes, to) : nullptr;
    case '_':
    case '#':
      to.type = first == '_' ? data_type::null : data_type::boolean;
      return rules.is_resp3 ? read_plain_word(at, end, to) : nullptr;
    case '%':
    case '~':
      if (!rules.is_resp3) return nullptr;
      [[fallthrough]];
    case '*': {
      to.type = type_of(first);
      const char* const behind = read_plain_length(at + 1, end, elements);
      if (first == '%') elements *= 2;
      to.text = {};
      to.number = elements;
      return behind;
    }
    default:
      return nullptr;
  }
}

}  // namespace

reply_parser::reply_parser(const parse_limits& limits, protocol version) noexcept
    : version_(version) {
  use(limits);
}

void reply_parser::use(const parse_limits& limits) noexcept {
  BECK_ASSERT(limits.depth <= parse_depth_max, "parse_limits::depth is over parse_depth_max");
  BECK_ASSERT(limits.elements != 0 && limits.whole_bytes >= 4, "a limit allows nothing");
  BECK_ASSERT(is_between_replies(), "the limits change inside a reply");
  limits_ = limits;
  limit_end_ = offset_ + limits_.reply_bytes;
}

bool reply_parser::is_between_replies() const noexcept {
  return stage_ == stage::element && depth_ == 0 && !is_attributed_ && searched_ == 0;
}

parsed reply_parser::parse(std::string_view input, token* to, std::size_t room,
                           parse_stop stop) noexcept {
  BECK_ASSERT(room != 0, "there must be room for a token");
  cursor c{.begin = input.data(),
           .at = input.data(),
           .end = input.data() + input.size(),
           .to = to,
           .to_end = to + room,
           .stops_behind_reply = stop == parse_stop::behind_reply};
  parsed result;
  behind_push_inside_ = false;
  for (;;) {
    if (stage_ == stage::element && searched_ == 0 && !c.is_stopped) parse_plain(c);
    if (c.is_stopped) {
      result.outcome = parse_outcome::stopped;
      break;
    }
    if (c.to == c.to_end) {
      result.outcome = parse_outcome::full;
      break;
    }
    const verdict found = step(c);
    if (found == verdict::again) continue;
    result.outcome = found == verdict::more ? parse_outcome::more : parse_outcome::refused;
    break;
  }
  result.tokens = static_cast<std::size_t>(c.to - to);
  result.consumed = static_cast<std::size_t>(c.at - c.begin);
  offset_ += result.consumed;
  examined_ += result.consumed;
  BECK_ASSERT(stage_ == stage::refused || offset_ <= limit_end_,
              "a reply was taken beyond its limit");
  return result;
}

/// Takes elements as long as they are plain, and counts them in the innermost aggregate.
void reply_parser::parse_plain(cursor& c) noexcept {
  if (is_attributed_ || stack_[depth_].is_streamed) return;
  const parse_limits limits = limits_;
  const plain_rules rules{limits.line_bytes, version_ == protocol::resp3};
  std::uint64_t budget =
      limit_end_ - offset_;  // the reply must end within so many bytes of c.begin
  const char* at = c.at;
  token* to = c.to;
  std::uint32_t depth = depth_;
  std::uint32_t left = stack_[depth].left;
  std::uint32_t push_depth = push_depth_;
  bool in_push = in_push_;
  while (to != c.to_end && c.end - at >= 4) {
    std::uint32_t elements = 0;
    token& made = *to;
    // Most elements are bulk strings: they are recognised before the switch over all types.
    const bool is_bulk = *at == '$';
    const char* const behind =
        is_bulk ? read_plain_bulk(at, c.end, made) : read_plain(at, c.end, rules, made, elements);
    if (behind == nullptr || static_cast<std::uint64_t>(behind - c.begin) > budget) {
      // Only lines were searched further than by some bytes.
      const bool is_line = *at == '+' || *at == '-';
      examined_ += is_line ? static_cast<std::uint64_t>(c.end - at) : 4;
      break;
    }
    made.part = text_part::whole;
    made.depth = static_cast<std::uint8_t>(depth - push_depth);
    made.is_last = false;
    made.in_push = in_push;
    if (!is_bulk && is_aggregate(made.type)) {
      if (depth >= limits.depth || elements > limits.elements - elements_) break;
      elements_ += elements;
      stack_[depth].left = left;
      if (elements != 0) {
        left = elements;
        stack_[++depth] = {elements, made.type, false};
        at = behind;
        ++to;
        continue;
      }
    }
    at = behind;
    ++to;
    if (depth == 0 && !c.stops_behind_reply) {
      made.is_last = true;
      elements_ = 1;
      budget = static_cast<std::uint64_t>(at - c.begin) + limits.reply_bytes;
    } else if (left > 1) {
      --left;
    } else {
      stack_[depth].left = left;
      depth_ = static_cast<std::uint16_t>(depth);
      limit_end_ = offset_ + budget;
      c.at = at;
      end_element(c, made);
      budget = limit_end_ - offset_;
      depth = depth_;
      left = stack_[depth].left;
      push_depth = push_depth_;
      in_push = in_push_;
      if (c.is_stopped || is_attributed_ || stack_[depth].is_streamed) break;
    }
  }
  stack_[depth].left = left;
  depth_ = static_cast<std::uint16_t>(depth);
  limit_end_ = offset_ + budget;
  c.at = at;
  c.to = to;
}

}  // namespace beck::redis
