// SPDX-License-Identifier: BSL-1.0
// Texts of proxies and of the hosts that need none.
#include <beck/http/proxies.hpp>

#include <charconv>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include <beck/base/base64.hpp>
#include <beck/http/target.hpp>
#include <beck/http/url.hpp>

#include "http/client/proxy_rules.hpp"
#include "http/message/characters.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr std::size_t credential_bytes_max = 255;  // RFC 1929

/// Throws for a text that is no proxy; what stands before the "@" is left out.
[[noreturn]] void refuse_proxy(std::string_view text, std::string_view why) {
  const std::size_t at = text.rfind('@');
  const std::string shown(at == std::string_view::npos ? text : text.substr(at));
  throw std::invalid_argument("http::proxies: \"" + shown.substr(0, 200) +
                              "\": " + std::string(why));
}

std::string decoded(std::string_view part, std::string_view whole) {
  std::string plain;  // a "+" is one
  for (const char c : part) {
    if (c == '+') {
      plain.append("%2B");
    } else {
      plain += c;
    }
  }
  std::string to;
  if (!decode_parameter(plain, to)) refuse_proxy(whole, "the user or the password is malformed");
  if (to.size() > credential_bytes_max)
    refuse_proxy(whole, "the user or the password is longer than 255 bytes");
  return to;
}

bool read_port(std::string_view text, std::uint16_t& to) noexcept {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), to);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && to != 0;
}

/// Returns whether two addresses of one version share their first bits.
bool share_bits(const ip::address& a, const ip::address& b, unsigned bits) noexcept {
  if (a.is_v4() != b.is_v4()) return false;
  const auto is_equal = [bits](const auto& x, const auto& y) {
    for (unsigned i = 0; i < bits; ++i) {
      const unsigned mask = 0x80U >> i % 8;
      if ((x[i / 8] & mask) != (y[i / 8] & mask)) return false;
    }
    return true;
  };
  if (a.is_v4()) return is_equal(a.to_v4().to_bytes(), b.to_v4().to_bytes());
  return is_equal(a.to_v6().to_bytes(), b.to_v6().to_bytes());
}

std::string lower_text(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = lower(c);
  return made;
}

}  // namespace

proxy_place proxy_place::read(std::string_view text) {
  proxy_place made;
  std::string_view rest = text;
  std::string scheme("http");
  if (const std::size_t at = rest.find("://"); at != std::string_view::npos) {
    scheme = lower_text(rest.substr(0, at));
    rest.remove_prefix(at + 3);
  }
  if (scheme == "socks5" || scheme == "socks5h") {
    made.kind = proxy_kind::socks5;
  } else if (scheme != "http") {
    refuse_proxy(text, "the scheme is none of http, socks5, socks5h");
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view before = rest.substr(0, at);
    const std::size_t colon = before.find(':');
    made.user = decoded(before.substr(0, colon), text);
    if (colon != std::string_view::npos) made.password = decoded(before.substr(colon + 1), text);
    if (made.user.empty()) refuse_proxy(text, "the user is empty");
    if (made.user.find(':') != std::string::npos) refuse_proxy(text, "the user has a colon");
    made.authorization = "Basic " + to_base64(made.user + ':' + made.password);
    rest.remove_prefix(at + 1);
  }
  const std::string place = "http://" + std::string(rest);
  url parts;
  const url_error refused = parse_url(place, parts);
  if (refused != url_error::none) refuse_proxy(text, text_of(refused));
  if ((!parts.path.empty() && parts.path != "/") || parts.has_query)
    refuse_proxy(text, "a proxy has no path");
  const std::size_t host_bytes = parts.host.size() + (parts.kind == host_kind::ipv6 ? 2 : 0);
  const bool has_port = rest.substr(0, rest.find('/')).size() > host_bytes;
  made.host = parts.host;
  made.port = has_port || made.kind == proxy_kind::http ? parts.port : 1080;
  made.name = std::string(made.kind == proxy_kind::http ? "http://" : "socks5://");
  made.name.append(parts.kind == host_kind::ipv6 ? "[" + made.host + "]" : made.host);
  made.name.append(":").append(std::to_string(made.port));
  return made;
}

direct_hosts direct_hosts::read(std::string_view text) {
  direct_hosts made;
  if (text == "*") return made;
  error_code ec;
  const std::size_t slash = text.find('/');
  std::string_view host = text.substr(0, slash);
  const std::size_t colon = host.rfind(':');
  const bool is_bare_v6 = host.find(':') != colon && !host.starts_with('[');
  if (colon != std::string_view::npos && !is_bare_v6 && host.back() != ']') {
    if (slash != std::string_view::npos || !read_port(host.substr(colon + 1), made.port))
      refuse_proxy(text, "the port is malformed");
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const ip::address address = ip::make_address(host, ec);
  if (!ec) {
    made.base = address;
    made.bits = address.is_v4() ? 32 : 128;
    if (slash == std::string_view::npos) return made;
    const std::string_view digits = text.substr(slash + 1);
    unsigned bits = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || bits > made.bits)
      refuse_proxy(text, "the size of the network is malformed");
    made.bits = bits;
    return made;
  }
  if (slash != std::string_view::npos) refuse_proxy(text, "the network is malformed");
  if (host.starts_with("*.")) host.remove_prefix(1);
  if (host.starts_with('.')) host.remove_prefix(1);
  if (host.empty()) refuse_proxy(text, "a host without a name");
  made.name = lower_text(host);
  return made;
}

bool direct_hosts::has(const origin& to) const {
  if (port != 0 && port != to.port) return false;
  if (base) {
    if (to.kind == host_kind::name) return false;
    error_code ec;
    const ip::address given = ip::make_address(to.host, ec);
    return !ec && share_bits(given, *base, bits);
  }
  if (name.empty()) return true;
  if (to.kind != host_kind::name) return false;
  std::string host = lower_text(to.host);
  if (host.ends_with('.')) host.pop_back();
  if (!host.ends_with(name)) return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

void proxy_rules::add_exceptions(std::string_view list) {
  constexpr std::string_view separators = ", \t";
  std::vector<direct_hosts> made = direct_;
  while (!list.empty()) {
    const std::size_t begin = list.find_first_not_of(separators);
    if (begin == std::string_view::npos) break;
    list.remove_prefix(begin);
    const std::string_view element = list.substr(0, list.find_first_of(separators));
    list.remove_prefix(element.size());
    made.push_back(direct_hosts::read(element));
  }
  direct_ = std::move(made);
}

const proxy_place* proxy_rules::find(const origin& to) const {
  const std::optional<proxy_place>& proxy = to.is_https ? https_ : http_;
  if (!proxy) return nullptr;
  for (const direct_hosts& one : direct_)
    if (one.has(to)) return nullptr;
  return &*proxy;
}

}  // namespace detail

proxies::proxies() : rules_(new detail::proxy_rules) {}
proxies::proxies(const proxies& other) : rules_(new detail::proxy_rules(*other.rules_)) {}
proxies::proxies(proxies&& other) noexcept : rules_(std::exchange(other.rules_, nullptr)) {}
proxies& proxies::operator=(proxies other) noexcept {
  std::swap(rules_, other.rules_);
  return *this;
}
proxies::~proxies() { delete rules_; }

proxies& proxies::http(std::string_view proxy) {
  rules_->set_http(proxy);
  return *this;
}

proxies& proxies::https(std::string_view proxy) {
  rules_->set_https(proxy);
  return *this;
}

proxies& proxies::all(std::string_view proxy) { return http(proxy).https(proxy); }

proxies& proxies::except(std::string_view hosts) {
  rules_->add_exceptions(hosts);
  return *this;
}

proxies proxies::from_environment() {
  proxies made;
  // Calls `set` with the first of these variables that is there.
  const auto with_first = [](std::initializer_list<const char*> names, auto set) {
    for (const char* const name : names) {
      const char* const text = detail::environment_text(name);
      if (text == nullptr || *text == '\0') continue;
      try {
        return set(text);
      } catch (const std::invalid_argument& refused) {
        throw std::invalid_argument(std::string(name) + ": " + refused.what());
      }
    }
  };
  with_first({"all_proxy", "ALL_PROXY"}, [&](const char* text) { made.all(text); });
  with_first({"http_proxy"}, [&](const char* text) { made.http(text); });
  with_first({"https_proxy", "HTTPS_PROXY"}, [&](const char* text) { made.https(text); });
  with_first({"no_proxy", "NO_PROXY"}, [&](const char* text) { made.except(text); });
  return made;
}

}  // namespace beck::http
