// SPDX-License-Identifier: BSL-1.0
// The text of the response to a message that the server refuses. It tells the client's programmer
// the limit that was exceeded, its value and its member.
#pragma once

#include <cstdint>
#include <string>

#include <beck/http/limits.hpp>
#include <beck/http/refusal.hpp>

namespace beck::http::detail {

inline std::string limit_seconds(duration d) {
  const std::int64_t ms = d.nanoseconds() / 1'000'000;
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// Returns the limit that a message has exceeded; an empty text if the reason is no limit.
inline std::string limit_of(refusal why, const limits& bounds, std::uint64_t body_bytes,
                            bool by_route, duration handler_time) {
  const auto bytes = [](std::uint64_t n, const char* member) {
    return std::to_string(n) + " bytes, set by " + member;
  };
  const head_limits& heads = bounds.heads;
  const body_limits& bodies = bounds.bodies;
  if (why == refusal::method_too_long) return "24 bytes";
  if (why == refusal::target_too_long)
    return bytes(heads.target_bytes, "head_limits::target_bytes");
  if (why == refusal::field_name_too_long)
    return bytes(heads.name_bytes, "head_limits::name_bytes");
  if (why == refusal::head_too_long) return bytes(heads.head_bytes, "head_limits::head_bytes");
  if (why == refusal::too_many_fields)
    return std::to_string(heads.fields) + " fields, set by head_limits::fields";
  if (why == refusal::chunk_line_too_long)
    return bytes(bodies.chunk_line_bytes, "body_limits::chunk_line_bytes");
  if (why == refusal::chunk_extensions_too_long)
    return bytes(bodies.chunk_extension_bytes, "body_limits::chunk_extension_bytes");
  if (why == refusal::trailers_too_long)
    return bytes(bodies.trailer_bytes, "body_limits::trailer_bytes") + ", and " +
           std::to_string(bodies.trailer_fields) + " fields, by body_limits::trailer_fields";
  if (why == refusal::body_too_long)
    return bytes(body_bytes, by_route ? "route_options::body_bytes" : "body_limits::body_bytes");
  if (why == refusal::head_late)
    return limit_seconds(bounds.head_timeout) + ", set by limits::head_timeout";
  if (why == refusal::body_late)
    return std::to_string(bounds.body_rate) + " bytes a second after " +
           limit_seconds(bounds.body_grace) + ", set by limits::body_rate, and pauses of " +
           limit_seconds(bounds.body_timeout) + ", by limits::body_timeout";
  if (why == refusal::handler_late)
    return limit_seconds(handler_time) + ", set by route_options::handler_timeout";
  return {};
}

/// Returns the reason in words, with the limit, without a line end. `body_bytes` is the limit of
/// the body; `by_route`: a setting of its route. `handler_time`: the limit of the handler.
inline std::string refusal_text(refusal why, const limits& bounds, std::uint64_t body_bytes,
                                bool by_route, duration handler_time) {
  std::string text("refused: ");
  text += text_of(why);
  const std::string limit = limit_of(why, bounds, body_bytes, by_route, handler_time);
  if (!limit.empty()) text += " (limit: " + limit + ')';
  return text;
}

}  // namespace beck::http::detail
