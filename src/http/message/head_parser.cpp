// SPDX-License-Identifier: BSL-1.0
// The lines of a head: finds their ends, and the parts between.
#include "http/message/head_parser.hpp"

#include <algorithm>
#include <cstring>

#include "http/message/characters.hpp"
#include "http/message/field_table.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t method_bytes_max = 24;
constexpr std::string_view version_prefix = "HTTP/";
constexpr std::size_t version_bytes = 8;  // "HTTP/1.1"

/// Returns the eight bytes at `text`, to compare a version with one instruction.
std::uint64_t word_at(const char* text) noexcept {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/// Returns the method at the beginning of a request line if it is a common one; otherwise
/// method::other.
method plain_method(const char* line) noexcept {
  if (std::memcmp(line, "GET ", 4) == 0) return method::get;
  if (std::memcmp(line, "POST ", 5) == 0) return method::post;
  if (std::memcmp(line, "HEAD ", 5) == 0) return method::head;
  return method::other;
}

/// Returns whether a line ends at `text`. Two bytes must be readable there.
inline bool is_line_end(const char* text) noexcept { return pair_at(text) == pair_at("\r\n"); }

inline bool is_blank_or_control(char c) noexcept { return static_cast<unsigned char>(c) <= ' '; }

/// Returns the refusal for a byte `c` that ends a line, or a part of one, in the wrong place.
refusal refusal_of(char c, refusal otherwise) noexcept {
  if (c == '\n') return refusal::bad_line_end;
  const auto value = static_cast<unsigned char>(c);
  if ((value < 0x20 && c != '\t' && c != '\r') || value == 0x7f) return refusal::bad_character;
  return otherwise;
}

/// Returns the position of the first control character other than a tab from `from` on; the size of
/// the text if there is none.
template <class Text>
BECK_INLINE std::size_t find_line_end(Text& text, std::size_t from) noexcept {
  if (from >= text.size()) return text.size();
  byte_finder<&Text::block::controls, Text> controls(text, from);
  std::size_t end = controls.next();
  while (end < text.size() && text[end] == '\t') end = controls.next();
  return end;
}

}  // namespace

const char* bare_text::readable(std::size_t at) noexcept {
  if (at + byte_block::bytes <= size_) return data_ + at;
  std::memset(tail_, 0, sizeof tail_);
  if (at < size_) std::memcpy(tail_, data_ + at, size_ - at);
  return tail_;
}

// --- the parts of a head -------------------------------------------------------------------------

parse_status head_parser::refuse(refusal reason, std::size_t offset) noexcept {
  progress_.reason = reason;
  progress_.offset = static_cast<std::uint32_t>(offset);
  return parse_status::refused;
}

template <class Text>
BECK_INLINE parse_status head_parser::request(Text text) noexcept {
  if (progress_.reason != refusal::none) return parse_status::refused;
  head_.text_ = text.data();
  line_marks marks;
  if (!progress_.has_first_line) {
    if (!parse_plain_line(text, marks)) {
      const parse_status line = parse_request_line<typename Text::plain>(text);
      if (line != parse_status::done) return line;
      marks = line_marks();
    }
    progress_.has_first_line = true;
  }
  const parse_status fields = parse_fields(text, marks);
  return fields == parse_status::done ? finish_request(has_plain_host(text)) : fields;
}

/// Parses "GET /target HTTP/1.1" and similar lines, if the line is whole, as almost always. If it
/// returns false, parse_request_line() has to parse it; only `marks` has changed.
template <class Text>
BECK_INLINE bool head_parser::parse_plain_line(Text& text, line_marks& marks) noexcept {
  constexpr std::size_t line_bytes_min = std::string_view("GET / HTTP/1.1").size();
  const char* const data = text.data();
  if (text.size() < line_bytes_min) return false;
  marks.look(text, 0);
  const std::size_t end = marks.controls != 0 ? beck::detail::first_in(marks.controls)
                                              : find_line_end(text, line_marks::bytes);
  if (end < line_bytes_min || end + 1 >= text.size() || !is_line_end(data + end)) return false;
  const method asked = plain_method(data);
  if (asked == method::other) return false;
  const std::size_t target = asked == method::get ? 4 : 5;
  const std::size_t target_end = end - version_bytes - 1;
  if (target_end <= target || target_end - target > limits_.target_bytes ||
      data[target_end] != ' ' || word_at(data + target_end + 1) != word_at("HTTP/1.1") ||
      byte_finder<&Text::block::not_in_target, Text>(text, target).next() != target_end)
    return false;
  head_.method_ = asked;
  head_.minor_version_ = 1;
  head_.line_at_ = 0;
  head_.method_bytes_ = static_cast<std::uint8_t>(target - 1);
  head_.target_at_ = static_cast<std::uint16_t>(target);
  head_.target_bytes_ = static_cast<std::uint16_t>(target_end - target);
  progress_.has_skipped = true;
  progress_.line_at = static_cast<std::uint32_t>(end + 2);
  marks.pass(end + 2);
  return true;
}

template <class Text>
parse_status head_parser::parse_request_line(Text& text) noexcept {
  std::size_t line = progress_.line_at;
  if (!progress_.has_skipped) {  // one empty line may precede a request (RFC 9112, section 2.2)
    if (text.size() == 0) return parse_status::more;
    if (text[0] == '\r') {
      if (text.size() == 1) return parse_status::more;
      if (text[1] != '\n') return refuse(refusal::bad_line_end, 0);
      progress_.line_at = 2;
      line = 2;
    }
    progress_.has_skipped = true;
  }
  if (line == text.size()) return parse_status::more;
  byte_finder<&Text::block::not_in_target, Text> odd(text, line);
  std::size_t end = odd.next();
  while (end < text.size() && text[end] == '#') end = odd.next();  // '#' is also a token character
  const std::size_t method_bytes = end - line;
  if (method_bytes > method_bytes_max)
    return refuse(refusal::method_too_long, line + method_bytes_max);
  if (end == text.size()) return parse_status::more;
  if (text[end] != ' ' || end == line) {
    if (end == line && is_blank(text[end])) return refuse(refusal::leading_space, end);
    return refuse(refusal_of(text[end], refusal::bad_request_line), end);
  }
  head_.method_ = to_method({text.data() + line, method_bytes});
  if (head_.method_ == method::other && !is_token({text.data() + line, method_bytes}))
    return refuse(refusal::bad_method, line);
  head_.line_at_ = static_cast<std::uint16_t>(line);
  head_.method_bytes_ = static_cast<std::uint8_t>(method_bytes);

  const std::size_t target = end + 1;
  if (target == text.size()) return parse_status::more;
  end = odd.next();
  if (end - target > limits_.target_bytes)
    return refuse(refusal::target_too_long, target + limits_.target_bytes);
  if (end == text.size()) return parse_status::more;
  if (text[end] != ' ') {
    const auto value = static_cast<unsigned char>(text[end]);
    const bool in_target = text[end] == '#' || value >= 0x80;
    return refuse(
        in_target ? refusal::bad_target : refusal_of(text[end], refusal::bad_request_line), end);
  }
  if (end == target) return refuse(refusal::bad_request_line, end);
  head_.target_at_ = static_cast<std::uint16_t>(target);
  head_.target_bytes_ = static_cast<std::uint16_t>(end - target);
  const parse_status version = parse_version(text, end + 1);
  if (version != parse_status::done) return version;
  const std::size_t after = end + 1 + version_bytes;
  if (text[after] != '\r') {
    return refuse(text[after] == '\n' ? refusal::bad_line_end : refusal::bad_request_line, after);
  }
  if (after + 1 == text.size()) return parse_status::more;
  if (text[after + 1] != '\n') return refuse(refusal::bad_line_end, after);
  progress_.line_at = static_cast<std::uint32_t>(after + 2);
  return parse_status::done;
}

/// Parses "HTTP/1.1" or "HTTP/1.0" at `at`. Returns done only if another byte follows.
template <class Text>
parse_status head_parser::parse_version(Text& text, std::size_t at) noexcept {
  const std::size_t there = std::min(text.size() - at, version_bytes);
  const char* const version = text.data() + at;
  const refusal malformed =
      progress_.is_response ? refusal::bad_status_line : refusal::bad_request_line;
  if (there == version_bytes && word_at(version) == word_at("HTTP/1.1")) {
    head_.minor_version_ = 1;
  } else {
    for (std::size_t i = 0; i < there; ++i) {
      const bool fits = i < version_prefix.size() ? version[i] == version_prefix[i]
                        : i == 6                  ? version[i] == '.'
                                                  : is_in(version[i], is_digit);
      if (!fits) return refuse(refusal_of(version[i], malformed), at + i);
    }
    if (there < version_bytes) return parse_status::more;
    if (version[5] != '1' || version[7] != '0') return refuse(refusal::bad_version, at);
    head_.minor_version_ = 0;
  }
  return at + version_bytes == text.size() ? parse_status::more : parse_status::done;
}

template <class Text>
BECK_INLINE parse_status head_parser::parse_fields(Text& text, line_marks marks) noexcept {
  found_fields found{head_.known_, head_.repeated_, head_.count_, limits_.fields,
                     std::min<unsigned>(limits_.name_bytes, byte_block::bytes - 1)};
  std::size_t line = progress_.line_at;
  std::size_t end = line;
  while (line < text.size()) {
    if (marks.controls == 0) marks.look(text, line);
    end = line + beck::detail::first_in(marks.controls);
    if (end + 1 >= text.size() || !is_line_end(text.data() + end)) {
      end = find_line_end(text, std::max<std::size_t>(end, progress_.scanned));
      if (end >= text.size()) break;
      if (text[end] != '\r') return refuse(refusal_of(text[end], refusal::bad_line_end), end);
      if (end + 1 == text.size()) break;
      if (text[end + 1] != '\n') return refuse(refusal::bad_line_end, end);
    }
    if (end == line) {
      head_.bytes_ = static_cast<std::uint16_t>(line + 2);
      keep(found);
      return parse_status::done;
    }
    const refusal refused = add_field(text, line, beck::detail::first_in(marks.colons), end, found);
    if (refused != refusal::none) return refuse(refused, line);
    marks.pass(end + 2 - line);
    line = end + 2;
  }
  keep(found);
  progress_.line_at = static_cast<std::uint32_t>(line);
  progress_.scanned = static_cast<std::uint32_t>(std::min(end, text.size()));
  return parse_status::more;
}

void head_parser::keep(const found_fields& found) noexcept {
  head_.known_ = found.known;
  head_.repeated_ = found.repeated;
  head_.count_ = static_cast<std::uint16_t>(found.count);
}

/// Adds the field of the line from `line` to `end`. Its first colon is `name_bytes` after `line`,
/// or lies after all marks.
template <class Text>
BECK_INLINE refusal head_parser::add_field(Text& text, std::size_t line, std::size_t name_bytes,
                                           std::size_t end, found_fields& found) noexcept {
  const char* const data = text.data();
  field id = field::other;
  if (name_bytes > 1 && name_bytes <= found.name_bytes_max && line + name_bytes < end)
    id = find_field(typename Text::block(text.readable(line)), data + line, name_bytes);
  if (id == field::other) {
    if (name_bytes >= line_marks::bytes)
      name_bytes = std::string_view(data + line, end - line).find(':');
    if (is_blank(data[line])) return refusal::leading_space;
    if (name_bytes >= end - line || !is_token({data + line, name_bytes}))
      return refusal::bad_field_name;
    if (name_bytes > limits_.name_bytes) return refusal::field_name_too_long;
  }
  if (found.count == found.count_max) return refusal::too_many_fields;
  // Nearly always one space precedes the value and none follows it. The line ends in CR.
  std::size_t value = line + name_bytes + 1;
  value += data[value] == ' ' ? 1U : 0U;
  if (is_blank_or_control(data[value]) || is_blank_or_control(data[end - 1])) {
    while (is_blank(data[value])) ++value;
    while (end > value && is_blank(data[end - 1])) --end;
  }
  head::entry& entry = head_.entries_[found.count++];
  entry.name_at = static_cast<std::uint16_t>(line);
  entry.value_at = static_cast<std::uint16_t>(value);
  entry.value_bytes = static_cast<std::uint16_t>(end - value);
  entry.name_bytes = static_cast<std::uint8_t>(name_bytes);
  entry.id = id;
  const std::uint64_t bit = head::bit_of(id);
  found.repeated |= found.known & bit;
  found.known |= bit;
  return refusal::none;
}

/// Returns whether the target is a path, and the host one short name or IPv4 address with an
/// optional port, as almost always.
template <class Text>
BECK_INLINE bool head_parser::has_plain_host(Text& text) const noexcept {
  if (text[head_.target_at_] != '/' || head_.method_ == method::connect ||
      !head_.has(field::host) || head_.repeats(field::host))
    return false;
  const head::entry* host = head_.entries_;
  while (host->id != field::host) ++host;
  const typename Text::block block(text.readable(host->value_at));
  const unsigned bytes = beck::detail::first_in(~block.in_host_name());
  if (bytes == 0 || bytes > host->value_bytes) return false;
  if (bytes == host->value_bytes) return true;
  const char* const port = text.data() + host->value_at + bytes;
  const unsigned port_bytes = host->value_bytes - bytes;
  if (port[0] != ':' || port_bytes > 6 || (port_bytes == 6 && port[1] > '5')) return false;
  for (unsigned i = 1; i < port_bytes; ++i)
    if (!is_in(port[i], is_digit)) return false;
  return true;
}

parse_status head_parser::parse_trailers(bare_text text) noexcept {
  head_.text_ = text.data();
  return parse_fields(text, line_marks());
}

// --- responses -----------------------------------------------------------------------------------

template <class Text>
BECK_INLINE parse_status head_parser::response(Text text, method asked) noexcept {
  if (progress_.reason != refusal::none) return parse_status::refused;
  progress_.is_response = true;
  head_.text_ = text.data();
  if (!progress_.has_first_line) {
    const parse_status line = parse_status_line<typename Text::plain>(text);
    if (line != parse_status::done) return line;
    progress_.has_first_line = true;
  }
  const parse_status fields = parse_fields(text, line_marks());
  return fields == parse_status::done ? finish_response(asked) : fields;
}

template <class Text>
parse_status head_parser::parse_status_line(Text& text) noexcept {
  constexpr std::size_t digits_at = version_bytes + 1;
  constexpr std::size_t reason_at = digits_at + 4;
  if (text.size() == 0) return parse_status::more;
  const parse_status version = parse_version(text, 0);
  if (version != parse_status::done) return version;
  if (text[version_bytes] != ' ')
    return refuse(refusal_of(text[version_bytes], refusal::bad_status_line), version_bytes);
  unsigned number = 0;
  for (std::size_t i = digits_at; i < reason_at - 1; ++i) {
    if (i == text.size()) return parse_status::more;
    if (!is_in(text[i], is_digit)) return refuse(refusal_of(text[i], refusal::bad_status_line), i);
    number = number * 10 + static_cast<unsigned>(text[i] - '0');
  }
  if (number < 100) return refuse(refusal::bad_status_line, digits_at);
  head_.status_ = static_cast<status>(number);
  // Some servers omit the space as well if they have no reason phrase.
  if (text.size() < reason_at) return parse_status::more;
  std::size_t reason = reason_at - 1;
  if (text[reason] == ' ') {
    ++reason;
  } else if (text[reason] != '\r') {
    return refuse(refusal_of(text[reason], refusal::bad_status_line), reason);
  }
  if (reason == text.size()) return parse_status::more;
  const std::size_t end = find_line_end(text, reason);
  if (end - reason > limits_.target_bytes)
    return refuse(refusal::bad_status_line, reason + limits_.target_bytes);
  if (end == text.size()) return parse_status::more;
  if (text[end] != '\r') return refuse(refusal_of(text[end], refusal::bad_status_line), end);
  if (end + 1 == text.size()) return parse_status::more;
  if (text[end + 1] != '\n') return refuse(refusal::bad_line_end, end);
  head_.target_at_ = static_cast<std::uint16_t>(reason);
  head_.target_bytes_ = static_cast<std::uint16_t>(end - reason);
  progress_.line_at = static_cast<std::uint32_t>(end + 2);
  return parse_status::done;
}

parse_status parse_trailers(std::string_view input, head& to, head_progress& progress,
                            const head_limits& limits) noexcept {
  return head_parser(to, progress, limits).parse_trailers(bare_text(input.data(), input.size()));
}

// --- one parser for each kind of text ------------------------------------------------------------

parse_status head_parser::parse_request(bare_text text) noexcept { return request(text); }
parse_status head_parser::parse_request(padded_text text) noexcept { return request(text); }
BECK_WIDE parse_status head_parser::parse_request(wide_text text) noexcept { return request(text); }

parse_status head_parser::parse_response(bare_text text, method asked) noexcept {
  return response(text, asked);
}
parse_status head_parser::parse_response(padded_text text, method asked) noexcept {
  return response(text, asked);
}
BECK_WIDE parse_status head_parser::parse_response(wide_text text, method asked) noexcept {
  return response(text, asked);
}

}  // namespace beck::http::detail
