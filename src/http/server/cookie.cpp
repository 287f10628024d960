// SPDX-License-Identifier: BSL-1.0
// Cookies: checked piece by piece, put together at the end.
#include <beck/http/cookie.hpp>

#include <algorithm>
#include <stdexcept>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::int64_t cookie_second_ns = 1'000'000'000;

/// Returns whether a character may be in the value of a cookie (RFC 6265bis, section 4.1.1).
bool is_of_value(char c) noexcept {
  return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool is_of_attribute(char c) noexcept { return !detail::is_control(c) && c != ';'; }

bool begins_with(std::string_view name, std::string_view prefix) noexcept {
  return detail::equal_in_any_case(name.substr(0, prefix.size()), prefix);
}

/// Returns the text in an exception: shortened, with '?' for all but printable ASCII.
std::string shown(std::string_view text) {
  std::string copy(text.substr(0, 40));
  for (char& c : copy)
    if (c < ' ' || c > '~') c = '?';
  return '"' + copy + (text.size() > copy.size() ? "\"..." : "\"");
}

[[noreturn]] void refuse(const char* what, std::string_view text) {
  throw std::invalid_argument(std::string("http::cookie: ") + what + ": " + shown(text));
}

void require_size(const char* what, std::size_t bytes, std::size_t most) {
  if (bytes > most)
    throw std::length_error(std::string("http::cookie: ") + what + " of " + std::to_string(bytes) +
                            " bytes (limit: " + std::to_string(most) + ')');
}

const char* policy_name(same_site which) noexcept {
  constexpr const char* names[] = {"Strict", "Lax", "None"};
  return names[static_cast<unsigned>(which)];
}

}  // namespace

cookie::cookie(std::string_view name, std::string_view value) {
  if (!detail::is_token(name)) refuse("the name is not a token", name);
  if (!std::all_of(value.begin(), value.end(), &is_of_value))
    refuse("the value has a character that cookies cannot have", value);
  require_size("name and value", name.size() + value.size(), bytes_max);
  pair_.append(name).append("=").append(value);
}

cookie cookie::removed(std::string_view name) {
  cookie made(name, {});
  made.seconds_ = 0;
  return made;
}

cookie& cookie::path(std::string_view below) {
  if (!below.starts_with('/') || !std::all_of(below.begin(), below.end(), &is_of_attribute))
    refuse("not a path", below);
  require_size("a path", below.size(), attribute_bytes_max);
  path_ = below;
  return *this;
}

cookie& cookie::domain(std::string_view host) {
  if (host.empty() || !detail::all_in(host, detail::in_host) ||
      !std::all_of(host.begin(), host.end(), &is_of_attribute))
    refuse("not a host name", host);
  require_size("a domain", host.size(), attribute_bytes_max);
  domain_ = host;
  return *this;
}

cookie& cookie::max_age(duration after) {
  const std::int64_t seconds = after.nanoseconds() / cookie_second_ns;
  if (seconds < 1)
    throw std::invalid_argument("http::cookie: a max_age of " +
                                std::to_string(after.nanoseconds()) +
                                " ns, below a second; cookie::removed() removes one");
  seconds_ = seconds;
  return *this;
}

cookie& cookie::readable_by_scripts() noexcept {
  http_only_ = false;
  return *this;
}

cookie& cookie::insecure() noexcept {
  secure_ = false;
  return *this;
}

cookie& cookie::to(same_site which) noexcept {
  same_site_ = which;
  return *this;
}

std::string cookie::text() const {
  const std::string_view name = std::string_view(pair_).substr(0, pair_.find('='));
  const bool is_of_host = begins_with(name, "__Host-");
  if (!secure_) {
    if (is_of_host || begins_with(name, "__Secure-"))
      refuse("the name wants a secure cookie", name);
    if (same_site_ == same_site::none) refuse("same_site::none wants a secure cookie", name);
  }
  if (is_of_host && !domain_.empty()) refuse("the name wants no domain", name);
  if (is_of_host && path_ != "/") refuse("the name wants the path \"/\"", name);
  std::string all = pair_;
  if (!path_.empty()) all.append("; Path=").append(path_);
  if (!domain_.empty()) all.append("; Domain=").append(domain_);
  if (seconds_ >= 0) all.append("; Max-Age=").append(std::to_string(seconds_));
  if (seconds_ == 0) all.append("; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
  if (secure_) all.append("; Secure");
  if (http_only_) all.append("; HttpOnly");
  return all.append("; SameSite=").append(policy_name(same_site_));
}

std::string_view functions::cookie_of(const request& q, std::string_view name) noexcept {
  if (!q.head().has(field::cookie)) return {};
  for (const field_view& one : q.head()) {
    if (one.id != field::cookie) continue;
    std::string_view left = one.value;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(';'), left.size());
      const std::string_view pair = detail::trimmed(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
      std::string_view value = pair.substr(equals + 1);
      if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
        value = value.substr(1, value.size() - 2);
      return value;
    }
  }
  return {};
}

}  // namespace beck::http
