// SPDX-License-Identifier: BSL-1.0
// What a handler has said of its response: status, fields, framing, and how much of the body is
// out.
#pragma once

#include <cstdint>

#include <beck/http/head.hpp>
#include <beck/http/status.hpp>

#include "http/message/field_lines.hpp"

namespace beck::http::detail {

/// How much of a response is in the output.
enum class response_stage : std::uint8_t {
  unsent,  ///< nothing
  head,  ///< the head, or a whole response, is being written: an exception leaves a part
  body,   ///< the head; parts of the body follow
  ended,  ///< all of it
};

/// The state of a response. A plain record: response_side keeps its rules. Its bools are
/// independent of each other, and of the stage.
struct response_state {
  field_lines fields;
  std::uint64_t length = 0;  ///< promised, if has_length()
  std::uint64_t sent = 0;    ///< bytes of the body so far
  http::status status = http::status::ok;
  response_stage stage = response_stage::unsent;
  body_framing framing = body_framing::until_close;  ///< of a body in parts
  bool touched = false;                              ///< the handler has set the status or a field
  bool cut = false;     ///< the connection ends before the response does
  bool broken = false;  ///< a part of the body is missing
  bool close = false;   ///< the connection ends after this response

  bool has_begun() const noexcept { return stage != response_stage::unsent; }
  /// Returns whether content_length() was called, or the body is a file.
  bool has_length() const noexcept { return framing == body_framing::length; }
  void promise(std::uint64_t bytes) noexcept {
    framing = body_framing::length;
    length = bytes;
  }
  void clear() noexcept {
    fields.clear();
    length = sent = 0;
    status = http::status::ok;
    stage = response_stage::unsent;
    framing = body_framing::until_close;
    touched = cut = broken = close = false;
  }
};

}  // namespace beck::http::detail
