// SPDX-License-Identifier: BSL-1.0
// A line ends with CR LF, LF or CR. A CR ends it at once, so that an event need not wait for the
// byte behind it.
#include "http/message/event_parser.hpp"

#include <algorithm>

#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::uint64_t retry_ms_max = 1'000'000'000'000;  // 31 years

}  // namespace

/// Skips a byte order mark at the beginning of the stream. Returns false if the input has ended
/// before it is clear whether there is one.
bool event_parser::skip_mark(std::string_view& input) noexcept {
  while (mark_bytes_ < byte_order_mark.size()) {
    if (input.empty()) return false;
    if (input.front() != byte_order_mark[mark_bytes_]) {
      line_ = byte_order_mark.substr(0, mark_bytes_);  // fits into the object: no allocation
      mark_bytes_ = byte_order_mark.size();
      return true;
    }
    input.remove_prefix(1);
    ++mark_bytes_;
  }
  return true;
}

bool event_parser::is_too_long() const noexcept {
  const std::size_t data_bytes =
      data_.empty() ? 0 : data_.size() - 1;  // without the last line feed
  return data_bytes + name_.size() + id_.size() > bounds_.event_bytes;
}

event_status event_parser::parse(std::string_view& input) {
  if (!is_long_ && !skip_mark(input)) return event_status::more;
  while (!is_long_ && take_line(input)) {
    const bool is_whole = end_line();
    line_.clear();
    if (is_whole) return event_status::event;
    is_long_ = is_too_long();
  }
  return is_long_ ? event_status::too_long : event_status::more;
}

/// Adds the input up to the next line end to the line. Returns whether the line is whole.
bool event_parser::take_line(std::string_view& input) {
  if (after_cr_ && !input.empty()) {
    after_cr_ = false;
    if (input.front() == '\n') input.remove_prefix(1);
  }
  const std::size_t end = line_bytes_of(input);
  if (line_.size() + end > bounds_.line_bytes) {
    is_long_ = true;
    return false;
  }
  line_.append(input.substr(0, end));
  const bool is_whole = end != input.size();
  if (is_whole) after_cr_ = input[end] == '\r';
  input.remove_prefix(is_whole ? end + 1 : end);
  return is_whole;
}

/// Interprets a line. Returns whether it ends an event.
bool event_parser::end_line() {
  const std::string_view line(line_);
  if (line.empty()) {
    last_id_ = id_;
    if (data_.empty()) {
      name_.clear();
      return false;
    }
    data_.pop_back();  // the line feed behind the last line
    if (name_.empty()) name_ = "message";
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return false;  // a comment
  std::string_view value =
      colon == std::string_view::npos ? line.substr(0, 0) : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
  return false;
}

void event_parser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_.append(value).append(1, '\n');
  } else if (name == "event") {
    name_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    if (value.empty() || !all_in(value, is_digit)) return;
    std::uint64_t number = 0;
    for (const char digit : value)
      number = std::min(number * 10 + static_cast<unsigned>(digit - '0'), retry_ms_max);
    retry_ms_ = number;
  }
}

}  // namespace beck::http::detail
