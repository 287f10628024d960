// SPDX-License-Identifier: BSL-1.0
// The reasons for refusing a message. There is no lenient mode: programs read malformed messages
// differently, and that lets an attacker smuggle requests past a proxy.
#pragma once

#include <beck/http/status.hpp>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// A reason to refuse a message. docs/http.md has the whole table.
enum class refusal : std::uint8_t {
  none,
  // lines
  bad_line_end,   ///< CR without LF, or LF without CR
  bad_character,  ///< NUL or another control character
  leading_space,  ///< a line that begins with a space or a tab (obs-fold)
  // the first line
  bad_method,  ///< empty, or not a token
  method_too_long,
  bad_target,  ///< a byte or a form that is not allowed, or a fragment
  target_too_long,
  bad_request_line,  ///< not "method SP target SP version"
  bad_version,       ///< not HTTP/1.0 or HTTP/1.1
  bad_status_line,
  // fields
  bad_field_name,  ///< empty, not a token, or without its colon
  field_name_too_long,
  too_many_fields,
  head_too_long,
  // the contents of fields
  host_missing,
  bad_host,               ///< not one host, or not that of the target
  bad_content_length,     ///< not one number up to 2^63-1
  bad_transfer_encoding,  ///< not chunked alone, in HTTP/1.0, or twice
  unknown_transfer_coding,
  bad_expectation,  ///< not 100-continue
  trace_refused,
  // bodies
  bad_chunk_size,
  bad_chunk_extension,
  bad_chunk_end,  ///< no CR LF after the data of a chunk
  chunk_line_too_long,
  chunk_extensions_too_long,
  bad_trailer,  ///< about framing, routing, authentication, content
  trailers_too_long,
  body_too_long,
  // time limits of a server
  head_late,
  body_late,
  handler_late,  ///< see route_options::handler_timeout
};

namespace functions {

/// Returns the status that a server answers with.
status status_of(refusal r) noexcept;

/// Returns the name of the value, such as "head_late".
std::string_view name_of(refusal r) noexcept;

/// Returns the reason in words, without a final period.
std::string_view text_of(refusal r) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
