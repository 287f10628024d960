// SPDX-License-Identifier: BSL-1.0
//
// Elements are counted, not nested: an array adds its own to those that are still to come.
#include "reply_splitter.hpp"

#include <algorithm>

namespace beck_redis_proxy {
namespace {

constexpr std::uint64_t number_most = UINT64_C(1) << 60;

/// Returns whether a type is a number of bytes, and so many bytes behind it.
bool is_text(char type) noexcept { return type == '$' || type == '=' || type == '!'; }

/// Returns whether a type is a number of elements; an attribute describes the one behind them.
bool is_aggregate(char type) noexcept {
  return type == '*' || type == '~' || type == '%' || type == '|';
}

/// Returns whether a type is one line.
bool is_line(char type) noexcept {
  constexpr std::string_view lines = "+-:_#,(";
  return lines.find(type) != std::string_view::npos;
}

}  // namespace

reply_part reply_splitter::next(std::string_view input) noexcept {
  std::size_t at = 0;
  while (at < input.size()) {
    if (stage_ == stage::text) {
      const std::size_t there = std::min<std::uint64_t>(text_left_, input.size() - at);
      text_left_ -= there;
      at += there;
      if (text_left_ == 0) stage_ = stage::text_end;
      continue;
    }
    if (stage_ == stage::line) {
      at = input.find('\r', at);
      if (at == std::string_view::npos) break;
    }
    if (!take(input[at++])) return {0, false, true};
    if (elements_left_ != 0) continue;
    elements_left_ = 1;
    return {at, true, false};
  }
  return {input.size(), false, false};
}

/// Takes one byte. Returns false if no reply has it there.
bool reply_splitter::take(char next) noexcept {
  switch (stage_) {
    case stage::type:
      return take_type(next);
    case stage::number:
      return take_number(next);
    case stage::line_feed:
      return next == '\n' && end_line();
    case stage::line:
    case stage::text_end:
      stage_ = stage::line_feed;
      return next == '\r';
    case stage::text:
      break;
  }
  return false;
}

bool reply_splitter::take_type(char type) noexcept {
  type_ = type;
  number_ = 0;
  has_digits_ = is_null_ = false;
  const bool has_number = is_text(type) || is_aggregate(type);
  stage_ = has_number ? stage::number : stage::line;
  return has_number || is_line(type);
}

/// Takes a byte of a number, which is -1 or has digits only.
bool reply_splitter::take_number(char next) noexcept {
  if (next == '\r') {
    stage_ = stage::line_feed;
    return has_digits_;
  }
  if (next == '-') {
    const bool is_first = !has_digits_ && !is_null_;
    is_null_ = true;
    return is_first;
  }
  if (next < '0' || next > '9') return false;
  if (is_null_ && (has_digits_ || next != '1')) return false;
  has_digits_ = true;
  number_ = number_ * 10 + static_cast<std::uint64_t>(next - '0');
  return number_ <= number_most;
}

/// Ends a line, or a text with the line end behind it. Returns false if too much is announced.
bool reply_splitter::end_line() noexcept {
  if (is_text(type_) && !is_null_) {
    type_ = '\0';  // the next line end is that of the element
    text_left_ = number_;
    stage_ = number_ == 0 ? stage::text_end : stage::text;
    return true;
  }
  stage_ = stage::type;
  const bool has_pairs = type_ == '%' || type_ == '|';
  if (type_ != '|') --elements_left_;
  if (is_aggregate(type_) && !is_null_) elements_left_ += has_pairs ? 2 * number_ : number_;
  return elements_left_ <= number_most;
}

}  // namespace beck_redis_proxy
