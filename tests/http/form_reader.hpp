// SPDX-License-Identifier: BSL-1.0
// Reads a form with files through the parser, in pieces that end at given places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/message/multipart_parser.hpp"

namespace beck::http::test {

/// A part as the parser has read it.
struct read_part {
  detail::part_head head;
  std::string data;
  friend bool operator==(const read_part& a, const read_part& b) {
    return a.head.name == b.head.name && a.head.file_name == b.head.file_name &&
           a.head.is_file == b.head.is_file && a.head.content_type == b.head.content_type &&
           a.head.media_type == b.head.media_type && a.data == b.data;
  }
};

/// What became of a form: its whole parts, and why it was refused.
struct read_form {
  std::vector<read_part> parts;
  detail::form_refusal reason = detail::form_refusal::none;
  std::size_t pending_max = 0;  ///< the most bytes that were left in the input
  friend bool operator==(const read_form& a, const read_form& b) {
    return a.parts == b.parts && a.reason == b.reason;
  }
};

/// Calls `see(step, input)` after each step. Each of `ends` is the end of the bytes that have
/// arrived, and the last one that of the body.
template <class See>
read_form read_parts(std::string_view boundary, const multipart_limits& bounds,
                     std::string_view body, const std::vector<std::size_t>& ends, See see) {
  using detail::part_event;
  detail::multipart_parser parser(boundary, bounds);
  read_form form;
  read_part present;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    for (;;) {
      const std::string_view input = body.substr(at, end - at);
      const detail::part_step step = parser.parse(input);
      see(step, input);
      if (step.event == part_event::refused) break;
      at += step.consumed;
      if (step.event == part_event::head) present = {parser.head(), {}};
      present.data += step.data;
      if (step.event == part_event::end) form.parts.push_back(present);
      if (step.event == part_event::more && step.consumed == 0) break;
    }
    if (parser.reason() != detail::form_refusal::none) break;
    form.pending_max = std::max(form.pending_max, end - at);
  }
  static_cast<void>(parser.finish(body.substr(at)));
  form.reason = parser.reason();
  return form;
}

inline read_form read_parts(std::string_view boundary, const multipart_limits& bounds,
                            std::string_view body, const std::vector<std::size_t>& ends) {
  return read_parts(boundary, bounds, body, ends,
                    [](const detail::part_step&, std::string_view) {});
}

}  // namespace beck::http::test
