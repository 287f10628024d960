// SPDX-License-Identifier: BSL-1.0
// The parser of replies, the careful way: texts, whole and in parts, and the ends of elements,
// aggregates and replies. Each step writes at most one token.
#include <beck/base/assert.hpp>

#include <algorithm>
#include <cstring>

#include "redis/protocol/parse_cursor.hpp"

namespace beck::redis {
namespace {

constexpr std::uint32_t format_bytes = 4;  // of a verbatim: three and a colon

}  // namespace

reply_parser::verdict reply_parser::step(cursor& c) noexcept {
  switch (stage_) {
    case stage::element:
      return read_element(c);
    case stage::text:
      return read_text(c);
    case stage::long_text:
      return read_long_text(c);
    case stage::text_end:
      return read_text_end(c);
    case stage::part:
      return read_part(c);
    case stage::refused:
      break;
  }
  return verdict::refused;
}

reply_parser::verdict reply_parser::begin_text(cursor& c, data_type type, std::uint64_t bytes,
                                               const char* behind) noexcept {
  if (type == data_type::verbatim && bytes < format_bytes)
    return refuse(c, protocol_error::bad_verbatim, c.at);
  const std::uint64_t allowed = limit_end_ - place_of(c, behind);
  if (allowed < 2 || bytes > allowed - 2) return refuse(c, size_error(), c.at);
  left_ = static_cast<std::uint32_t>(bytes);
  type_ = type;
  stage_ = stage::text;
  c.at = behind;
  return verdict::again;
}

/// Begins a string whose parts have lengths of their own.
reply_parser::verdict reply_parser::begin_streamed_text(cursor& c, const char* behind) noexcept {
  type_ = data_type::bulk_string;
  is_streamed_ = true;
  stage_ = stage::part;
  token& made = make(c, type_);
  made.part = text_part::first;
  made.number = unknown_size;
  c.at = behind;
  return verdict::again;
}

/// Reads the head of a part of a streamed string; the string ends with one of no bytes.
reply_parser::verdict reply_parser::read_part(cursor& c) noexcept {
  if (c.at == c.end) return want(1);
  if (*c.at != ';') return refuse(c, protocol_error::unexpected_part, c.at);
  std::string_view line;
  const verdict state = find_line(c, detail::head_kind::part, line);
  if (state != verdict::again) return state;
  std::uint64_t size = 0;
  const verdict read = read_size(c, line, size);
  if (read != verdict::again) return read;
  const char* const behind = line.data() + line.size() + 2;
  if (size != 0) return begin_text(c, type_, size, behind);
  is_streamed_ = false;
  stage_ = stage::element;
  token& made = make(c, type_);
  made.part = text_part::last;
  end_scalar(c, made, behind);
  return verdict::again;
}

/// Writes the token of a text that has arrived whole, or that of the first part of a long one.
reply_parser::verdict reply_parser::read_text(cursor& c) noexcept {
  const std::size_t needed = left_ + std::size_t{2};
  const bool is_whole = c.available() >= needed;
  if (!is_whole && left_ < limits_.whole_bytes) return want(needed - c.available());
  if (type_ == data_type::verbatim) {
    const verdict state = read_format(c);
    if (state != verdict::again) return state;
  }
  if (is_whole) return end_text(c, text_part::whole);
  stage_ = left_ == 0 ? stage::text_end : stage::long_text;
  if (is_streamed_) return verdict::again;
  const std::uint32_t announced = left_;
  make_part(c, text_part::first, std::min<std::size_t>(left_, c.available())).number = announced;
  return verdict::again;
}

/// Writes the token of a further part of a long text.
reply_parser::verdict reply_parser::read_long_text(cursor& c) noexcept {
  if (c.available() >= left_ + std::size_t{2}) return end_text(c, text_part::last);
  if (c.at == c.end) return want(1);
  make_part(c, text_part::middle, std::min<std::size_t>(left_, c.available()));
  return verdict::again;
}

/// Reads the CR LF behind a long text, all of whose bytes were passed on or received elsewhere.
reply_parser::verdict reply_parser::read_text_end(cursor& c) noexcept {
  if (c.available() < 2) return want(2 - c.available());
  if (!is_streamed_) return end_text(c, text_part::last);
  const verdict state = check_text_end(c, c.at);
  if (state != verdict::again) return state;
  c.at += 2;
  stage_ = stage::part;
  return verdict::again;
}

/// Takes the format before a verbatim text.
reply_parser::verdict reply_parser::read_format(cursor& c) noexcept {
  if (c.available() < format_bytes) return want(format_bytes - c.available());
  if (c.at[3] != ':') return refuse(c, protocol_error::bad_verbatim, c.at + 3);
  std::memcpy(format_, c.at, sizeof format_);
  c.at += format_bytes;
  left_ -= format_bytes;
  return verdict::again;
}

/// Writes the token of the rest of a text, which has arrived with its CR LF.
reply_parser::verdict reply_parser::end_text(cursor& c, text_part part) noexcept {
  const verdict state = check_text_end(c, c.at + left_);
  if (state != verdict::again) return state;
  const std::uint32_t bytes = left_;
  token& made = make_part(c, is_streamed_ ? text_part::middle : part, bytes);
  if (is_streamed_) {
    c.at += 2;
    stage_ = stage::part;
    return verdict::again;
  }
  if (part == text_part::whole) made.number = bytes;
  stage_ = stage::element;
  end_scalar(c, made, c.at + 2);
  return verdict::again;
}

reply_parser::verdict reply_parser::check_text_end(const cursor& c, const char* at) noexcept {
  if (at[0] != '\r') return refuse(c, protocol_error::bad_text_end, at);
  if (at[1] != '\n') return refuse(c, protocol_error::bad_text_end, at + 1);
  return verdict::again;
}

/// Writes a token with the next bytes of the text.
token& reply_parser::make_part(cursor& c, text_part part, std::size_t bytes) noexcept {
  token& made = make(c, type_);
  made.text = {c.at, bytes};
  made.part = part;
  if (type_ == data_type::verbatim) std::memcpy(made.format, format_, sizeof format_);
  c.at += bytes;
  left_ -= static_cast<std::uint32_t>(bytes);
  if (left_ == 0 && stage_ == stage::long_text) stage_ = stage::text_end;
  return made;
}

std::size_t reply_parser::text_left() const noexcept {
  return stage_ == stage::long_text ? left_ : 0;
}

void reply_parser::skip_text(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= text_left(), "more was received than belongs to the text");
  left_ -= static_cast<std::uint32_t>(bytes);
  offset_ += bytes;
  if (bytes != 0 && left_ == 0) stage_ = stage::text_end;
}

/// Begins a token of the element that the cursor is at.
token& reply_parser::make(cursor& c, data_type type) noexcept {
  token& made = *c.to++;
  made = token();
  made.type = type;
  made.depth = static_cast<std::uint8_t>(depth_ - push_depth_);
  made.in_push = in_push_;
  is_attributed_ = false;
  return made;
}

void reply_parser::end_scalar(cursor& c, token& made, const char* behind) noexcept {
  c.at = behind;
  end_element(c, made);
}

/// Counts an element that has ended before the cursor, and ends the aggregates that it completes.
/// `made`: its last token.
void reply_parser::end_element(cursor& c, token& made) noexcept {
  while (depth_ != 0) {
    frame& around = stack_[depth_];
    around.left += around.is_streamed ? 1U : ~0U;
    if (around.is_streamed || around.left != 0) return;
    if (pop(c, made)) return;
  }
  made.is_last = true;
  end_reply(c);
}

/// Leaves the innermost aggregate. Returns whether it was none of the elements that are counted: an
/// attribute, or a push inside a reply.
bool reply_parser::pop(cursor& c, token& made) noexcept {
  BECK_ASSERT(depth_ > push_depth_, "an aggregate was left that was not begun");
  const data_type ended = stack_[depth_--].type;
  if (ended == data_type::attribute) {
    is_attributed_ = true;
    return true;
  }
  if (ended != data_type::push || push_depth_ == 0) return false;
  made.is_last = true;
  push_depth_ = 0;
  in_push_ = false;
  limit_end_ = outer_end_;
  behind_push_inside_ = true;
  c.is_stopped = true;
  return true;
}

/// Prepares for the next reply, which begins at the cursor.
void reply_parser::end_reply(cursor& c) noexcept {
  limit_end_ = place_of(c, c.at) + limits_.reply_bytes;
  elements_ = 1;
  in_push_ = false;
  if (c.stops_behind_reply) c.is_stopped = true;
}

bool reply_parser::count_push() noexcept {
  BECK_ASSERT(behind_push_inside_ && depth_ == 1, "no push inside a reply has just ended");
  behind_push_inside_ = false;
  frame& around = stack_[depth_];
  around.left += around.is_streamed ? 1U : ~0U;
  if (around.is_streamed || around.left != 0) return false;
  --depth_;
  limit_end_ = offset_ + limits_.reply_bytes;
  elements_ = 1;
  return true;
}

std::uint64_t reply_parser::place_of(const cursor& c, const char* at) const noexcept {
  return offset_ + static_cast<std::uint64_t>(at - c.begin);
}

}  // namespace beck::redis
