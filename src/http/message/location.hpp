// SPDX-License-Identifier: BSL-1.0
// The value of a Location field as servers write it, which is often not a valid URL. RFC 3986,
// section 3, read from the left; else the URL standard of browsers decides.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message/characters.hpp"

namespace beck::http::detail {

/// Returns the position at which the scheme and the authority of a reference end.
inline std::size_t find_path(std::string_view text) noexcept {
  std::size_t at = text.find_first_of(":/?#");
  if (at == std::string_view::npos) return 0;
  at = text[at] == ':' ? at + 1 : 0;
  if (text.substr(at, 2) != "//") return at;
  const std::size_t end = text.find_first_of("/?#", at + 2);
  return end == std::string_view::npos ? text.size() : end;
}

/// Returns a reference in which bytes that a path, query or fragment must not have are escaped with
/// "%", as browsers do: spaces, brackets, bytes of UTF-8, a "%" that begins no escape. Scheme and
/// host stay unchanged: parse_url() checks them. Throws std::bad_alloc.
inline std::string encode_location(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  const std::size_t path = find_path(text);
  std::string to(text.substr(0, path));
  character_class allowed = in_path;
  bool in_fragment = false;
  for (std::size_t i = path; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '?' || (c == '#' && !in_fragment)) {
      allowed = in_query;
      in_fragment = in_fragment || c == '#';
      to += c;
    } else if (is_in(c, allowed) || is_escape(text, i)) {
      to += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      to += '%';
      to += digits[byte >> 4U];
      to += digits[byte & 15U];
    }
  }
  return to;
}

/// Returns whether `target` may be in a request line, as request_parser accepts it: a path with or
/// without a query, or "*" for OPTIONS.
inline bool is_target(std::string_view target, bool may_be_star) noexcept {
  if (may_be_star && target == "*") return true;
  if (target.empty() || target[0] != '/') return false;
  for (const char c : target)
    if (c <= ' ' || c >= 0x7F || c == '#') return false;  // bytes of 0x80 and more are negative
  return true;
}

}  // namespace beck::http::detail
