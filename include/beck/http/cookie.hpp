// SPDX-License-Identifier: BSL-1.0
//
// Cookies (RFC 6265bis): those that a request brings, and those that a response sets.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/request.hpp>
#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

/// The requests of other sites that a browser sends a cookie with.
enum class same_site : std::uint8_t {
  strict,  ///< none
  lax,     ///< links that the user follows
  none,    ///< all, such as pictures and forms; browsers want a secure cookie for it
};

/// A cookie for response::set_cookie(). Unless the program says otherwise scripts cannot read it,
/// it is sent over https only (and to localhost), and not with requests that other sites cause,
/// except when the user follows a link. Without max_age() it ends with the browser. A value.
///   r.set_cookie(http::cookie("session", sealed).path("/").max_age(12h));
class cookie {
 public:
  /// The most bytes of name and value together, and of a path or a domain, that browsers keep.
  static constexpr std::size_t bytes_max = 4096, attribute_bytes_max = 1024;

  /// Makes a cookie. Throws std::invalid_argument unless `name` is a token, and `value` consists of
  /// printable ASCII without space, '"', ',', ';' and '\': encode others, for example with
  /// to_base64(). Throws std::length_error above bytes_max; std::bad_alloc.
  cookie(std::string_view name, std::string_view value);
  /// Returns a cookie that makes the browser forget the one with this name. It must have the same
  /// path and domain. Throws as above.
  static cookie removed(std::string_view name);

  /// Sets the path below which the cookie is sent. Default: the folder of the request's path.
  /// Throws std::invalid_argument unless it begins with "/" and has neither ';' nor control
  /// characters; std::length_error; std::bad_alloc.
  cookie& path(std::string_view below);
  /// Sends the cookie to the subdomains of `host`, too. Default: to the host of the request only.
  /// Throws std::invalid_argument unless it has the characters of a host name; std::length_error;
  /// std::bad_alloc.
  cookie& domain(std::string_view host);
  /// Keeps the cookie for so long, in whole seconds. Browsers keep none for more than 400 days.
  /// Throws std::invalid_argument below 1 s; see removed().
  cookie& max_age(duration after);
  /// Lets scripts of the page read the cookie: without HttpOnly.
  cookie& readable_by_scripts() noexcept;
  /// Sends the cookie over http, too: without Secure.
  cookie& insecure() noexcept;
  /// Sets with which requests of other sites the cookie is sent. Default: same_site::lax.
  cookie& to(same_site which) noexcept;

  /// Returns the value of the field Set-Cookie. Throws std::invalid_argument for cookies that
  /// browsers refuse: same_site::none and insecure(); a name that begins with "__Secure-" and
  /// insecure(); one that begins with "__Host-" and insecure(), a domain(), or another path() than
  /// "/". Throws std::bad_alloc.
  std::string text() const;

 private:
  std::string pair_, path_, domain_;
  std::int64_t seconds_ = -1;  // without max_age()
  same_site same_site_ = same_site::lax;
  bool http_only_ = true, secure_ = true;
};

namespace functions {

/// Returns the value of the first cookie with this name, without '"' around it, a view into the
/// request; an empty text if there is none. Names differ by case. A client can send any value.
std::string_view cookie_of(const request& q, std::string_view name) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
