// SPDX-License-Identifier: BSL-1.0
// Boundaries and data: RFC 2046, section 5.1.1. The head of a part is read once it is whole.
#include "http/message/multipart_parser.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::uint32_t head_bytes_min = 256;
constexpr std::uint32_t head_bytes_max = 65535;  // offsets in heads have 16 bits

multipart_limits in_range(multipart_limits bounds) noexcept {
  bounds.head_bytes = std::clamp(bounds.head_bytes, head_bytes_min, head_bytes_max);
  return bounds;
}

}  // namespace

multipart_parser::multipart_parser(std::string_view boundary, const multipart_limits& bounds)
    : delimiter_("\r\n--" + std::string(boundary)), bounds_(in_range(bounds)) {
  BECK_ASSERT(!boundary.empty() && boundary.size() <= 70, "a boundary has from 1 to 70 characters");
}

part_step multipart_parser::refuse(form_refusal why) noexcept {
  BECK_ASSERT(state_ != state::refused, "a form is refused twice");
  state_ = state::refused;
  reason_ = why;
  return {part_event::refused, 0, {}};
}

part_step multipart_parser::parse(std::string_view input) {
  if (state_ == state::refused) return {part_event::refused, 0, {}};
  const std::uint64_t left = bounds_.body_bytes - bytes_;
  const bool is_cut = input.size() > left;
  if (is_cut) input = input.substr(0, static_cast<std::size_t>(left));
  const part_step done = step(input);
  BECK_ASSERT(done.consumed <= input.size(), "a form has consumed more than the input has");
  bytes_ += done.consumed;
  const bool waits = done.event == part_event::more && done.consumed == 0;
  return waits && is_cut ? refuse(form_refusal::form_too_long) : done;
}

part_step multipart_parser::step(std::string_view input) {
  switch (state_) {
    case state::begin:
      return take_begin(input);
    case state::preamble:
      return take_preamble(input);
    case state::delimiter:
    case state::padding:
    case state::last:
      return take_line_end(input);
    case state::head:
      return take_head(input);
    case state::data_begin:
    case state::data:
      return take_data(input);
    case state::epilogue:
      return {part_event::more, input.size(), {}};
    case state::refused:
      break;
  }
  return {part_event::refused, 0, {}};
}

/// Finds the first `text`, or its beginning at the end of the input. Only the first character of a
/// delimiter is a line end, so no byte is compared twice.
multipart_parser::place multipart_parser::find(std::string_view text, std::string_view input) {
  for (std::size_t at = input.find(text.front()); at != std::string_view::npos;
       at = input.find(text.front(), at + 1)) {
    while (at + 1 < input.size() && input[at + 1] == text.front()) ++at;  // a run costs little
    const std::string_view here = input.substr(at, text.size());
    if (text.starts_with(here)) return {at, here.size() == text.size()};
  }
  return {input.size(), false};
}

part_step multipart_parser::take_begin(std::string_view input) noexcept {
  const std::string_view first = std::string_view(delimiter_).substr(2);
  const std::string_view here = input.substr(0, first.size());
  if (here == first) {
    state_ = state::delimiter;
    return {part_event::more, first.size(), {}};
  }
  if (first.starts_with(here)) return {};
  state_ = state::preamble;
  return take_preamble(input);
}

/// Drops text up to the first delimiter. Refuses a boundary behind a line feed alone, where others
/// would begin with the parts.
part_step multipart_parser::take_preamble(std::string_view input) noexcept {
  const std::string_view line = std::string_view(delimiter_).substr(1);
  const place found = find(line, input);
  if (found.at != 0) {
    before_line_ = input[found.at - 1];
    return {part_event::more, found.at, {}};
  }
  if (!found.is_whole) return {};
  if (before_line_ != '\r') return refuse(form_refusal::bad_delimiter);
  state_ = state::delimiter;
  return {part_event::more, line.size(), {}};
}

/// Takes what stands behind a boundary: "--" if it is the last one, white space, a line end.
part_step multipart_parser::take_line_end(std::string_view input) noexcept {
  if (input.empty()) return {};
  const char first = input.front();
  if (first == '-' && state_ == state::delimiter) {
    if (input.size() < 2) return {};
    if (input[1] != '-') return refuse(form_refusal::bad_delimiter);
    state_ = state::last;
    return {part_event::more, 2, {}};
  }
  if (is_blank(first)) {
    const std::size_t end = std::min(input.find_first_not_of(" \t"), input.size());
    if (state_ == state::delimiter) state_ = state::padding;
    return {part_event::more, end, {}};
  }
  if (first != '\r') return refuse(form_refusal::bad_delimiter);
  if (input.size() < 2) return {};
  if (input[1] != '\n') return refuse(form_refusal::bad_delimiter);
  if (state_ != state::last) return begin_part();
  state_ = state::epilogue;
  return {part_event::more, 2, {}};
}

part_step multipart_parser::begin_part() noexcept {
  if (parts_ == bounds_.parts) return refuse(form_refusal::too_many_parts);
  ++parts_;
  part_bytes_ = 0;
  searched_ = 0;
  state_ = state::head;
  return {part_event::more, 2, {}};
}

part_step multipart_parser::take_head(std::string_view input) {
  const std::string_view text = input.substr(0, bounds_.head_bytes);
  if (text.size() < 2) return {};
  if (text.starts_with("\r\n")) return refuse(form_refusal::no_disposition);
  const std::size_t end = text.find("\r\n\r\n", searched_);
  if (end == std::string_view::npos) {
    if (text.size() == bounds_.head_bytes) return refuse(form_refusal::head_too_long);
    searched_ = text.size() < 3 ? 0 : text.size() - 3;
    return {};
  }
  const std::string_view whole = text.substr(0, end + 4);
  const bool has_delimiter = whole.starts_with(std::string_view(delimiter_).substr(2)) ||
                             whole.find(delimiter_) != std::string_view::npos;
  if (has_delimiter) return refuse(form_refusal::bad_delimiter);  // "--b: x" would be a field
  const form_refusal bad = read_head(whole);
  if (bad != form_refusal::none) return refuse(bad);
  state_ = state::data_begin;
  return {part_event::head, end + 4, {}};
}

part_step multipart_parser::take_data(std::string_view input) noexcept {
  if (state_ == state::data_begin) {
    // An empty part: the empty line behind its head is the beginning of the delimiter.
    const std::string_view first = std::string_view(delimiter_).substr(2);
    const std::string_view here = input.substr(0, first.size());
    if (here == first) {
      state_ = state::delimiter;
      return {part_event::end, first.size(), {}};
    }
    if (first.starts_with(here)) return {};
    state_ = state::data;
  }
  const place found = find(delimiter_, input);
  if (found.at != 0) {
    const std::uint64_t left = bounds_.part_bytes - part_bytes_;
    if (left == 0) return refuse(form_refusal::part_too_long);
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left, found.at));
    part_bytes_ += taken;
    return {part_event::data, taken, input.substr(0, taken)};
  }
  if (!found.is_whole) return {};
  state_ = state::delimiter;
  return {part_event::end, delimiter_.size(), {}};
}

bool multipart_parser::finish(std::string_view rest) noexcept {
  if (state_ == state::refused) return false;
  if (state_ == state::epilogue || (state_ == state::last && rest.empty())) return true;
  static_cast<void>(refuse(form_refusal::cut_short));
  return false;
}

}  // namespace beck::http::detail
