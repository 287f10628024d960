// SPDX-License-Identifier: BSL-1.0
//
// Conditional requests (RFC 9110, section 13): decides whether a request is carried out, answered
// with "304 Not Modified" or with "412 Precondition Failed", and whether its Range applies.
#pragma once

#include <beck/http/head.hpp>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// The state of the representation that the conditions of a request are compared with.
struct representation_state {
  std::string_view etag;           ///< the value of its ETag field; empty if it has none
  std::int64_t last_modified = 0;  ///< seconds since 1970
  bool has_last_modified = false;  ///< whether `last_modified` is set
  bool exists = true;              ///< false: the request would create it
};

/// The result of the conditions of a request.
enum class condition_status : std::uint8_t {
  proceed,              ///< carry it out
  not_modified,         ///< answer 304: the client has the representation
  precondition_failed,  ///< answer 412 and change nothing
};

/// The result of evaluate_conditions().
struct condition_result {
  condition_status status = condition_status::proceed;
  bool range_applies = false;  ///< whether the Range field applies; false without one
};

namespace functions {

/// Evaluates If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since and If-Range in the
/// order of RFC 9110, section 13.2.2. Call it only if the answer would otherwise have a status of
/// 2xx. `now`: seconds since 1970.
///
/// Malformed input gets the answer that loses no data:
/// - If-Match: it fails, so that nothing is changed by mistake.
/// - If-None-Match: it holds for GET and HEAD, which get a whole response, and fails for others.
/// - If-Modified-Since and If-Unmodified-Since, also if given twice: ignored, as the RFC demands.
/// - If-Range, also if given twice: it fails, and the response is whole. So does a date that is not
///   exactly `last_modified`, or is not a second before `now`. A date cannot tell two changes
///   within a second apart; entity tags can.
/// - Range, if given twice: ignored.
/// - `state.etag`: counts as no entity tag.
condition_result evaluate_conditions(const request_head& head, const representation_state& state,
                                     std::int64_t now) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
