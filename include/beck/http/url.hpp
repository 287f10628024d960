// SPDX-License-Identifier: BSL-1.0
//
// URLs of http and https for clients (RFC 3986; RFC 9110, section 4.2): split into views, compared,
// and resolved against each other for redirects. The parser is strict: if two programs read a URL
// differently, an attacker can lead them to different servers.
#pragma once

#include <beck/base/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// The reason why a URL is refused.
enum class url_error : std::uint8_t {
  none,
  too_long,          ///< over url::bytes_max, or over the room for the result
  bad_scheme,        ///< no scheme, or neither http nor https
  user_information,  ///< "user:password@" before the host
  bad_host,          ///< no host, or not a name, an IPv4 address or an IPv6 address in brackets
  bad_port,          ///< not a number from 1 to 65535 without leading zeros
  bad_character,     ///< in path, query or fragment; also a "%" without two hexadecimal digits
};

/// The form of a host.
enum class host_kind : std::uint8_t { name, ipv4, ipv6 };

/// The parts of an absolute URL: views of its text, which must outlive them. A value; any thread.
struct url {
  /// The size of the longest URL that is accepted.
  static constexpr std::size_t bytes_max = 8192;

  bool is_https = false;
  host_kind kind = host_kind::name;
  std::uint16_t port = 80;      ///< the scheme's own, 80 or 443, if the text has none
  std::string_view host;        ///< as it is written; an IPv6 address without its brackets
  std::string_view host_field;  ///< the value of Host: with brackets, and ":port" if it is needed
  std::string_view path;        ///< begins with "/", or is empty; not decoded
  std::string_view query;       ///< without the "?"; not decoded
  bool has_query = false;       ///< whether there is a "?"

  /// Appends the target of a request line to `to`, a std::string or a similar type: the path, or
  /// "/" if it is empty, and the query.
  template <class String>
  void append_target(String& to) const {
    if (path.empty()) to.append("/", 1);
    to.append(path.data(), path.size());
    if (has_query) to.append("?", 1);
    to.append(query.data(), query.size());
  }
};

namespace functions {

/// Returns a sentence with the reason; an empty text for url_error::none.
std::string_view text_of(url_error e) noexcept;

/// Splits an absolute URL into its parts. A fragment is checked and dropped: it is never sent.
/// Stricter than RFC 3986 in the host: no "%" and no comma, at most 255 bytes, and no name that
/// inet_aton(3) would read as an address ("127.1", "0x7f000001"). Returns url_error::none, or the
/// reason for a refusal; `to` is set in the first case only.
url_error parse_url(std::string_view text, url& to) noexcept;

/// Returns whether both have the same scheme, host (in any case) and port, so that data meant for
/// one may be sent to the other.
bool is_same_origin(const url& a, const url& b) noexcept;

/// Resolves `reference`, the value of a Location field, against the URL of the request (RFC 3986,
/// section 5.2). Writes the absolute URL into `room`, without a fragment. `to` becomes the text
/// in `room`, which parse_url() accepts. Requires that `room` overlaps neither of the others.
/// Returns url_error::none, or the reason why there is no such URL; `to` is set in the first case
/// only.
url_error resolve_reference(const url& base, std::string_view reference, mutable_buffer room,
                            std::string_view& to) noexcept;

/// As above; assigns the URL to a std::string or a similar type. Allocates as `to` does, at most
/// url::bytes_max. `to` may be the text that `base` refers to; then `base` is invalid afterwards.
template <class String>
url_error resolve_reference(const url& base, std::string_view reference, String& to) {
  char room[url::bytes_max];
  std::string_view text;
  const url_error error = resolve_reference(base, reference, {room, sizeof room}, text);
  if (error == url_error::none) to.assign(text.data(), text.size());
  return error;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::http
