// SPDX-License-Identifier: BSL-1.0
// Credentials in the field Authorization: a scheme, a space and a text.
#include <beck/http/credentials.hpp>

#include <algorithm>

#include <beck/base/base64.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

/// Returns the text behind a scheme; an empty one if the request has another one, or several
/// fields.
std::string_view text_behind(const request& q, std::string_view scheme) noexcept {
  if (q.head().repeats(field::authorization)) return {};
  const std::string_view value = q.get(field::authorization);
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos) return {};
  if (!detail::equal_in_any_case(value.substr(0, space), scheme)) return {};
  return detail::trimmed(value.substr(space));
}

bool is_token_character(char c) noexcept {
  return detail::is_unreserved(c) || c == '+' || c == '/';
}

}  // namespace

basic_credentials::basic_credentials(const request& q) {
  const std::string_view encoded = text_behind(q, "basic");
  if (!from_base64(encoded, text_)) return;
  const std::size_t colon = text_.find(':');
  has_ =
      colon != std::string::npos && std::none_of(text_.begin(), text_.end(), &detail::is_control);
  if (has_) user_bytes_ = colon;
}

std::string_view functions::bearer_token(const request& q) noexcept {
  const std::string_view token = text_behind(q, "bearer");
  const std::size_t end = std::min(token.find('='), token.size());
  const bool is_good = end != 0 && token.find_first_not_of('=', end) == std::string_view::npos &&
                       std::all_of(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(end),
                                   &is_token_character);
  return is_good ? token : std::string_view();
}

bool functions::is_equal(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  volatile unsigned char different = 0;  // volatile: the loop goes on to its end
  for (std::size_t i = 0; i < a.size(); ++i)
    different = static_cast<unsigned char>(different | (a[i] ^ b[i]));
  return different == 0;
}

}  // namespace beck::http
