// SPDX-License-Identifier: BSL-1.0
//
// The credentials in the field Authorization of a request (RFC 7617, RFC 6750).
#pragma once

#include <beck/http/request.hpp>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

/// The name and the password of a request with "Authorization: Basic ...". A value.
///   const http::basic_credentials given(q);
///   if (given.user() != name || !http::is_equal(given.password(), password)))
///     return r.set(http::field::www_authenticate, "Basic realm=\"files\"").fail(401);
class basic_credentials {
 public:
  /// Takes those of `q`. There are none without the field, with several of it, with another scheme,
  /// or if it is malformed: no base64, no ":", a control character. Throws std::bad_alloc.
  explicit basic_credentials(const request& q);

  /// Returns whether there are credentials.
  explicit operator bool() const noexcept { return has_; }
  /// Returns the name of the user, which has no ":"; an empty text if there are no credentials.
  std::string_view user() const noexcept { return {text_.data(), user_bytes_}; }
  /// Returns the password; an empty text if there are no credentials.
  std::string_view password() const noexcept {
    return has_ ? std::string_view(text_).substr(user_bytes_ + 1) : std::string_view();
  }

 private:
  std::string text_;
  std::size_t user_bytes_ = 0;
  bool has_ = false;
};

namespace functions {

/// Returns the token of "Authorization: Bearer TOKEN", a view into the request; an empty text if
/// there is none, there are several, or it has other characters than letters, digits and
/// "-._~+/" with "=" at its end.
std::string_view bearer_token(const request& q) noexcept;

/// Compares secrets in a time that depends on their sizes only, not on the place of the first
/// difference, by which an attacker could guess one byte after the other.
bool is_equal(std::string_view a, std::string_view b) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
