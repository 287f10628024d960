// SPDX-License-Identifier: BSL-1.0
// The URL is cut into those of single servers: one for each sentinel, and one for the primary.
#include "redis/client/sentinels.hpp"

#include <stdexcept>

namespace beck::redis::detail {
namespace {

constexpr std::string_view plain_scheme = "redis+sentinel://";
constexpr std::string_view secure_scheme = "rediss+sentinel://";

[[noreturn]] void refuse_sentinels(const char* why) {
  throw std::invalid_argument(std::string("redis: not the URL of sentinels: ") + why);
}

/// Returns the text in front of the first `end`, and removes both from `rest`.
std::string_view cut_at(std::string_view& rest, char end) noexcept {
  const std::size_t at = rest.find(end);
  const std::string_view front = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return front;
}

/// Returns "host:port" for one with or without a port.
std::string with_port(std::string_view address) {
  const std::size_t bracket = address.rfind(']');
  const bool has_port = address.find(':', bracket == address.npos ? 0 : bracket) != address.npos;
  return std::string(address) + (has_port ? "" : ":26379");
}

}  // namespace

bool is_sentinel_url(std::string_view text) noexcept {
  return text.substr(0, plain_scheme.size()) == plain_scheme ||
         text.substr(0, secure_scheme.size()) == secure_scheme;
}

sentinel_url parse_sentinel_url(std::string_view text) {
  if (!is_sentinel_url(text)) refuse_sentinels("the scheme");
  const bool is_secure = text.substr(0, secure_scheme.size()) == secure_scheme;
  const std::string scheme = is_secure ? "rediss://" : "redis://";
  std::string_view rest = text.substr(is_secure ? secure_scheme.size() : plain_scheme.size());
  std::string_view hosts = cut_at(rest, '/');
  std::string login;
  if (const std::size_t at = hosts.rfind('@'); at != hosts.npos) {
    login = hosts.substr(0, at + 1);
    if (login.find(':') == login.npos) refuse_sentinels("a user without a password");
    hosts.remove_prefix(at + 1);
  }
  std::string_view place = cut_at(rest, '?');
  const std::string_view query = rest;
  std::string sentinel_login;
  if (!query.empty()) {
    constexpr std::string_view key = "sentinel_login=";
    if (query.substr(0, key.size()) != key) refuse_sentinels("a query other than sentinel_login=");
    sentinel_login = std::string(query.substr(key.size())) + "@";
    if (sentinel_login.find_first_of("/&#") != sentinel_login.npos)
      refuse_sentinels("\"/\", \"&\" and \"#\" in a login are written as %2F, %26 and %23");
  }
  sentinel_url url;
  url.name = decoded(cut_at(place, '/'));
  if (url.name.empty()) refuse_sentinels("no name of a primary behind the sentinels");
  url.primary = parse_server_url(scheme + login + "primary/" + std::string(place));
  url.primary.must_be_primary = true;
  for (std::string_view all = hosts; !all.empty() || url.sentinels.empty();) {
    if (url.sentinels.size() == sentinel_url::sentinels_max) refuse_sentinels("more than 32");
    url.sentinels.push_back(
        parse_server_url(scheme + sentinel_login + with_port(cut_at(all, ','))));
  }
  return url;
}

}  // namespace beck::redis::detail
