// SPDX-License-Identifier: BSL-1.0
// The lines of a head: where they end, and where their parts are.
#include "http/head_parser.hpp"

#include <algorithm>
#include <cstring>

#include "http/characters.hpp"
#include "http/field_table.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t method_bytes_max = 24;
constexpr std::string_view version_prefix = "HTTP/";
constexpr std::size_t version_bytes = 8;  // "HTTP/1.1"

/// The first eight bytes of a line, to compare methods and versions with one instruction.
std::uint64_t word_at(const char* text) noexcept {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

method method_of(const char* text, std::size_t bytes) noexcept {
  if (bytes == 3 && std::memcmp(text, "GET", 3) == 0) return method::get;
  if (bytes == 4 && std::memcmp(text, "POST", 4) == 0) return method::post;
  return to_method({text, bytes});
}

/// Which refusal a byte is worth that ends a line, or a part of one, in the wrong place.
refusal refusal_of(char c, refusal otherwise) noexcept {
  if (c == '\n') return refusal::bad_line_end;
  const auto value = static_cast<unsigned char>(c);
  if ((value < 0x20 && c != '\t' && c != '\r') || value == 0x7f) return refusal::bad_character;
  return otherwise;
}

}  // namespace

const char* bare_text::readable(std::size_t at) noexcept {
  if (size_ - at >= byte_block::bytes) return data_ + at;
  std::memset(tail_, 0, sizeof tail_);
  std::memcpy(tail_, data_ + at, size_ - at);
  return tail_;
}

// --- the parts of a head -------------------------------------------------------------------------

parse_status head_parser::refuse(refusal reason, std::size_t offset) noexcept {
  progress_.reason = reason;
  progress_.offset = static_cast<std::uint32_t>(offset);
  return parse_status::refused;
}

template <class Text>
parse_status head_parser::parse_request(Text text) noexcept {
  if (progress_.reason != refusal::none) return parse_status::refused;
  head_.text_ = text.data();
  if (!progress_.has_first_line) {
    if (!parse_plain_line(text)) {
      const parse_status line = parse_request_line(text);
      if (line != parse_status::done) return line;
    }
    progress_.has_first_line = true;
  }
  const parse_status fields = parse_fields(text);
  return fields == parse_status::done ? finish_request(has_plain_host(text)) : fields;
}

/// Parses "GET /target HTTP/1.1" and its like, if it is whole and has a short target, as almost
/// always. False: parse_request_line() decides; nothing has changed.
template <class Text>
bool head_parser::parse_plain_line(Text& text) noexcept {
  constexpr std::size_t rest_bytes = version_bytes + 2;
  if (text.size() == 0 || text[0] == '\r') return false;
  std::uint32_t odd = byte_block(text.readable(0)).not_in_target();
  const unsigned method_end = beck::detail::first_in(odd);
  odd &= odd - 1;
  const unsigned target_end = beck::detail::first_in(odd);
  if (target_end < method_end + 2 || target_end + 1 + rest_bytes > text.size()) return false;
  const char* const rest = text.data() + target_end + 1;
  if (target_end == byte_block::bytes || text[method_end] != ' ' || text[target_end] != ' ' ||
      word_at(rest) != word_at("HTTP/1.1") || rest[version_bytes] != '\r' ||
      rest[version_bytes + 1] != '\n')
    return false;
  head_.method_ = method_of(text.data(), method_end);
  if (head_.method_ == method::other || target_end - method_end > limits_.target_bytes)
    return false;
  head_.minor_version_ = 1;
  head_.line_at_ = 0;
  head_.method_bytes_ = static_cast<std::uint8_t>(method_end);
  head_.target_at_ = static_cast<std::uint16_t>(method_end + 1);
  head_.target_bytes_ = static_cast<std::uint16_t>(target_end - method_end - 1);
  progress_.has_skipped = true;
  progress_.line_at = static_cast<std::uint32_t>(target_end + 1 + rest_bytes);
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
  byte_finder<&byte_block::not_in_target, Text> odd(text, line);
  std::size_t end = odd.next();
  while (end < text.size() && text[end] == '#') end = odd.next();  // a character of tokens
  const std::size_t method_bytes = end - line;
  if (method_bytes > method_bytes_max)
    return refuse(refusal::method_too_long, line + method_bytes_max);
  if (end == text.size()) return parse_status::more;
  if (text[end] != ' ' || end == line) {
    if (end == line && is_blank(text[end])) return refuse(refusal::leading_space, end);
    return refuse(refusal_of(text[end], refusal::bad_request_line), end);
  }
  head_.method_ = method_of(text.data() + line, method_bytes);
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

/// Parses "HTTP/1.1" or "HTTP/1.0" at `at`; done only if a byte follows.
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

namespace {

/// The first control character but the tab from `from` on; the size of the text if there is none.
template <class Text>
std::size_t find_line_end(Text& text, std::size_t from) noexcept {
  if (from >= text.size()) return text.size();
  byte_finder<&byte_block::controls, Text> controls(text, from);
  std::size_t end = controls.next();
  while (end < text.size() && text[end] == '\t') end = controls.next();
  return end;
}

}  // namespace

template <class Text>
parse_status head_parser::parse_fields(Text& text) noexcept {
  found_fields found{head_.known_, head_.repeated_, head_.count_};
  std::size_t line = progress_.line_at;
  std::size_t end = line;
  while (line < text.size()) {
    if (text[line] == '\r' && line + 1 < text.size() && text[line + 1] == '\n') {
      head_.bytes_ = static_cast<std::uint16_t>(line + 2);
      keep(found);
      return parse_status::done;
    }
    const byte_block block(text.readable(line));
    const unsigned first = beck::detail::first_in(block.controls());
    end = line + first;
    if (first == byte_block::bytes || (end < text.size() && text[end] == '\t'))
      end = find_line_end(text, std::max<std::size_t>(end, progress_.scanned));
    if (end >= text.size()) break;
    if (text[end] != '\r') return refuse(refusal_of(text[end], refusal::bad_line_end), end);
    if (end + 1 == text.size()) break;
    if (text[end + 1] != '\n') return refuse(refusal::bad_line_end, end);
    const refusal refused = add_field(text, block, line, end, found);
    if (refused != refusal::none) return refuse(refused, line);
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

/// Adds the field of the line from `line` to `end`; `block` is the beginning of the line.
template <class Text>
inline refusal head_parser::add_field(const Text& text, const byte_block& block, std::size_t line,
                                      std::size_t end, found_fields& found) noexcept {
  const char* const data = text.data();
  std::size_t name_bytes = beck::detail::first_in(block.equal(':'));
  field id = field::other;
  if (name_bytes < byte_block::bytes) {
    if (name_bytes > 1 && line + name_bytes < end) id = find_field(block, data + line, name_bytes);
  } else {
    while (line + name_bytes < end && data[line + name_bytes] != ':') ++name_bytes;
  }
  if (id == field::other) {
    if (is_blank(data[line])) return refusal::leading_space;
    if (line + name_bytes >= end || !is_token({data + line, name_bytes}))
      return refusal::bad_field_name;
  }
  if (name_bytes > limits_.name_bytes) return refusal::field_name_too_long;
  if (found.count == limits_.fields) return refusal::too_many_fields;
  std::size_t value = line + name_bytes + 1;
  if (data[value] == ' ') ++value;
  while (is_blank(data[value])) ++value;  // the line ends in CR
  while (end > value && is_blank(data[end - 1])) --end;
  head_.entries_[found.count++] = {
      static_cast<std::uint16_t>(line), static_cast<std::uint16_t>(value),
      static_cast<std::uint16_t>(end - value), static_cast<std::uint8_t>(name_bytes), id};
  found.repeated |= found.known & head::bit_of(id);
  found.known |= head::bit_of(id);
  return refusal::none;
}

/// Returns whether the target is a path, and the host one short name or IPv4 address with an
/// optional port, as almost always.
template <class Text>
bool head_parser::has_plain_host(Text& text) const noexcept {
  if (text[head_.target_at_] != '/' || head_.method_ == method::connect ||
      !head_.has(field::host) || head_.repeats(field::host))
    return false;
  const head::entry* host = head_.entries_;
  while (host->id != field::host) ++host;
  const byte_block block(text.readable(host->value_at));
  const unsigned bytes = beck::detail::first_in(~block.in_host_name());
  if (bytes == 0 || bytes > host->value_bytes) return false;
  if (bytes == host->value_bytes) return true;
  const std::string_view port(text.data() + host->value_at + bytes, host->value_bytes - bytes);
  return port[0] == ':' && port.size() <= 5 && all_in(port.substr(1), is_digit);
}

parse_status head_parser::parse_trailers(bare_text text) noexcept {
  head_.text_ = text.data();
  return parse_fields(text);
}

// --- replies -------------------------------------------------------------------------------------

template <class Text>
parse_status head_parser::parse_response(Text text, method asked) noexcept {
  if (progress_.reason != refusal::none) return parse_status::refused;
  progress_.is_response = true;
  head_.text_ = text.data();
  if (!progress_.has_first_line) {
    const parse_status line = parse_status_line(text);
    if (line != parse_status::done) return line;
    progress_.has_first_line = true;
  }
  const parse_status fields = parse_fields(text);
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
  if (number < 100 || number > 599) return refuse(refusal::bad_status_line, digits_at);
  head_.status_ = static_cast<status>(number);
  // Some servers leave out the space as well where they have no reason.
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

template parse_status head_parser::parse_request(padded_text text) noexcept;
template parse_status head_parser::parse_request(bare_text text) noexcept;
template parse_status head_parser::parse_response(padded_text text, method asked) noexcept;
template parse_status head_parser::parse_response(bare_text text, method asked) noexcept;

}  // namespace beck::http::detail
