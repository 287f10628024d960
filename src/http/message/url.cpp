// SPDX-License-Identifier: BSL-1.0
// URLs are split from the left. The result of a resolution is written as text and parsed like any
// other URL, so that it is never one that parse_url() would refuse.
#include <beck/http/url.hpp>

#include <cstring>
#include <iterator>

#include <beck/net/address_v4.hpp>
#include <beck/net/address_v6.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::size_t host_bytes_max = 255;

constexpr std::string_view url_error_texts[] = {
    "",
    "the URL is too long",
    "the scheme is neither http nor https",
    "the URL has user information before its host",
    "the host is not a name, an IPv4 address or an IPv6 address in brackets",
    "the port is not a number from 1 to 65535",
    "a character in the path, the query or the fragment is not allowed",
};
static_assert(std::size(url_error_texts) == static_cast<unsigned>(url_error::bad_character) + 1);

/// Returns whether all characters are in the class, or escaped.
bool is_encoded(std::string_view text, detail::character_class allowed) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (detail::is_escape(text, i))
      i += 2;
    else if (!detail::is_in(text[i], allowed))
      return false;
  }
  return true;
}

/// Returns whether the last label is a number, which makes inet_aton(3) take the host for an
/// address.
bool ends_in_number(std::string_view host) noexcept {
  if (host.back() == '.') host.remove_suffix(1);
  const std::string_view label = host.substr(host.rfind('.') + 1);
  if (label.empty()) return false;
  if (label.size() > 1 && label[0] == '0' && detail::lower(label[1]) == 'x')
    return detail::all_in(label.substr(2), detail::is_hex);  // also if nothing follows
  return detail::all_in(label, detail::is_digit);
}

/// Finds the kind of a host that is not in brackets. Returns false if it is malformed.
bool is_host(std::string_view host, host_kind& kind) noexcept {
  if (host.empty() || host.size() > host_bytes_max || !detail::all_in(host, detail::in_host) ||
      host.find('%') != std::string_view::npos)
    return false;
  kind = host_kind::name;
  if (!ends_in_number(host)) return true;
  kind = host_kind::ipv4;
  error_code ec;
  static_cast<void>(ip::make_address_v4(host, ec));
  return !ec;
}

bool is_ipv6(std::string_view text) noexcept {
  error_code ec;
  static_cast<void>(ip::make_address_v6(text, ec));
  return !ec && text.find('%') == std::string_view::npos;  // a scope has no meaning for a server
}

url_error parse_port(std::string_view digits, std::uint16_t& port) noexcept {
  if (digits.empty()) return url_error::none;
  if (digits.size() > 5 || digits[0] == '0' || !detail::all_in(digits, detail::is_digit))
    return url_error::bad_port;
  unsigned number = 0;
  for (const char c : digits) number = number * 10 + static_cast<unsigned>(c - '0');
  if (number > 65535) return url_error::bad_port;
  port = static_cast<std::uint16_t>(number);
  return url_error::none;
}

/// Reads host and port. Requires that the port is that of the scheme.
url_error parse_authority(std::string_view text, url& to) noexcept {
  if (text.find('@') != std::string_view::npos) return url_error::user_information;
  std::size_t end = text.find(':');
  if (text.substr(0, 1) == "[") {
    end = text.find(']');
    if (end == std::string_view::npos) return url_error::bad_host;
    to.host = text.substr(1, end - 1);
    to.kind = host_kind::ipv6;
    ++end;
    if (!is_ipv6(to.host) || (end < text.size() && text[end] != ':')) return url_error::bad_host;
  } else {
    if (end == std::string_view::npos) end = text.size();
    to.host = text.substr(0, end);
    if (!is_host(to.host, to.kind)) return url_error::bad_host;
  }
  const std::uint16_t usual = to.port;
  const std::string_view digits = end < text.size() ? text.substr(end + 1) : std::string_view();
  const url_error error = parse_port(digits, to.port);
  to.host_field = to.port == usual ? text.substr(0, end) : text;
  return error;
}

/// The parts of a URL or a reference after its authority.
struct url_rest {
  std::string_view path;
  std::string_view query;
  bool has_query;
};

/// Splits and checks a path with query and fragment.
url_error split_rest(std::string_view text, url_rest& to) noexcept {
  const std::size_t hash = text.find('#');
  const std::string_view sent = text.substr(0, hash);
  const std::size_t mark = sent.find('?');
  to.has_query = mark != std::string_view::npos;
  to.path = sent.substr(0, mark);
  to.query = to.has_query ? sent.substr(mark + 1) : std::string_view();
  const std::string_view fragment =
      hash == std::string_view::npos ? std::string_view() : text.substr(hash + 1);
  return is_encoded(to.path, detail::in_path) && is_encoded(to.query, detail::in_query) &&
                 is_encoded(fragment, detail::in_query)
             ? url_error::none
             : url_error::bad_character;
}

/// Writes the result of resolve_reference(); notes whether there was room.
class url_writer {
 public:
  explicit url_writer(mutable_buffer room) noexcept
      : text_(static_cast<char*>(room.data())), size_(room.size()) {}

  void put(std::string_view text) noexcept {
    fits_ = fits_ && text.size() <= size_ - at_;
    if (!fits_ || text.empty()) return;
    std::memcpy(text_ + at_, text.data(), text.size());
    at_ += text.size();
  }

  /// Removes "." and ".." from the path written from `begin` on (RFC 3986, section 5.2.4). That
  /// path is empty or begins with "/".
  void remove_dot_segments(std::size_t begin) noexcept {
    const std::string_view whole(text_, at_);
    std::size_t to = begin;
    for (std::size_t from = begin; from < whole.size();) {
      const std::size_t slash = whole.find('/', from + 1);
      const bool is_last = slash == std::string_view::npos;
      const std::size_t end = is_last ? whole.size() : slash;
      const std::string_view segment = whole.substr(from, end - from);
      const bool is_up = segment == "/..";
      if (is_up)
        while (to > begin && text_[--to] != '/') continue;
      if (!is_up && segment != "/.") {
        std::memmove(text_ + to, segment.data(), segment.size());
        to += segment.size();
      } else if (is_last) {
        text_[to++] = '/';
      }
      from = end;
    }
    at_ = to;
  }

  bool fits() const noexcept { return fits_; }
  std::size_t size() const noexcept { return at_; }
  std::string_view view() const noexcept { return {text_, at_}; }

 private:
  char* text_;
  std::size_t size_;
  std::size_t at_ = 0;
  bool fits_ = true;
};

}  // namespace

std::string_view functions::text_of(url_error e) noexcept {
  return url_error_texts[static_cast<unsigned>(e)];
}

url_error functions::parse_url(std::string_view text, url& to) noexcept {
  if (text.size() > url::bytes_max) return url_error::too_long;
  const std::size_t colon = text.find(':');
  const std::string_view scheme = text.substr(0, colon);
  url found;
  found.is_https = detail::equal_in_any_case(scheme, "https");
  if (colon == std::string_view::npos ||
      !(found.is_https || detail::equal_in_any_case(scheme, "http")))
    return url_error::bad_scheme;
  found.port = found.is_https ? 443 : 80;
  text.remove_prefix(colon + 1);
  if (text.substr(0, 2) != "//") return url_error::bad_host;
  text.remove_prefix(2);
  const std::size_t end = text.find_first_of("/?#");
  if (const url_error e = parse_authority(text.substr(0, end), found); e != url_error::none)
    return e;
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  url_rest rest;
  if (const url_error e = split_rest(text, rest); e != url_error::none) return e;
  found.path = rest.path;
  found.query = rest.query;
  found.has_query = rest.has_query;
  to = found;
  return url_error::none;
}

bool functions::is_same_origin(const url& a, const url& b) noexcept {
  return a.is_https == b.is_https && a.port == b.port && detail::equal_in_any_case(a.host, b.host);
}

url_error functions::resolve_reference(const url& base, std::string_view reference,
                                       mutable_buffer room, std::string_view& to) noexcept {
  if (reference.size() > url::bytes_max) return url_error::too_long;
  url_writer out(room);
  const std::size_t first = reference.find_first_of(":/?#");
  bool is_https = base.is_https;
  if (first != std::string_view::npos && reference[first] == ':') {
    url absolute;
    if (const url_error e = parse_url(reference, absolute); e != url_error::none) return e;
    is_https = absolute.is_https;
    reference.remove_prefix(first + 1);
  }
  out.put(is_https ? "https://" : "http://");
  const bool has_host = reference.substr(0, 2) == "//";
  if (has_host) {
    reference.remove_prefix(2);
    const std::size_t end = reference.find_first_of("/?#");
    out.put(reference.substr(0, end));
    reference.remove_prefix(end == std::string_view::npos ? reference.size() : end);
  } else {
    out.put(base.host_field);
  }
  url_rest rest;
  if (const url_error e = split_rest(reference, rest); e != url_error::none) return e;
  const std::size_t path_at = out.size();
  if (!has_host && rest.path.empty()) {
    out.put(base.path);
    if (!rest.has_query) rest = {rest.path, base.query, base.has_query};
  } else {
    if (!has_host && rest.path[0] != '/') {
      // The base without its last segment.
      out.put(base.path.empty() ? "/" : base.path.substr(0, base.path.rfind('/') + 1));
    }
    out.put(rest.path);
    out.remove_dot_segments(path_at);
  }
  if (rest.has_query) out.put("?");
  out.put(rest.query);
  if (!out.fits()) return url_error::too_long;
  url checked;
  if (const url_error e = parse_url(out.view(), checked); e != url_error::none) return e;
  to = out.view();
  return url_error::none;
}

}  // namespace beck::http
