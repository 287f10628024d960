// SPDX-License-Identifier: BSL-1.0
//
// A scheme, then a path, or a host and a port, or several of them and a name.
#include "server_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <beck/net/local.hpp>
#include <charconv>

#include "common/failure.hpp"

namespace beck_redis_proxy {
namespace {

constexpr std::size_t host_bytes_max = 253;  // of a name in the DNS

/// Throws wrong_usage. The text is not repeated: it may have a password.
[[noreturn]] void refuse(std::string_view why) {
  throw beck_apps::wrong_usage(fmt::format("SERVER: {}", why));
}

std::uint16_t port_of(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest != end || port == 0)
    refuse(fmt::format("the port {} is not a number from 1 to 65535", text));
  return port;
}

void set_host(std::string_view text, server_place& to) {
  std::size_t host_end = text.find(':');
  if (text.starts_with('[')) {  // an address of IPv6
    host_end = text.find(']');
    if (host_end == text.npos) refuse(fmt::format("the host {} has no ]", text));
    to.host = text.substr(1, host_end++ - 1);
    if (host_end != text.size() && text[host_end] != ':')
      refuse(fmt::format("{} stands behind the host", text.substr(host_end)));
  } else {
    to.host = text.substr(0, host_end);
  }
  if (const std::size_t at = to.host.find_first_of(" #"); at != to.host.npos)
    refuse(fmt::format("the host has the byte {:#04x}", static_cast<unsigned>(to.host[at])));
  if (to.host.empty() || to.host.size() > host_bytes_max)
    refuse(fmt::format("the host has {} bytes, not 1 to {}", to.host.size(), host_bytes_max));
  if (host_end < text.size()) to.port = port_of(text.substr(host_end + 1));
}

void set_path(std::string_view text, server_place& to) {
  constexpr std::size_t most = beck::local::socket_path::path_max;
  if (!text.starts_with('/')) refuse("unix:// needs a path from the root, such as unix:///run/s");
  if (text.size() > most)
    refuse(fmt::format("the path has {} bytes, and a UNIX socket at most {}", text.size(), most));
  if (text.ends_with('/')) refuse(fmt::format("{} is a folder, not a socket", text));
  to.path = text;
}

[[noreturn]] void refuse_login() {
  refuse("the URL has a user or password; the proxy changes no byte, so clients log in");
}

[[noreturn]] void refuse_database() {
  refuse("the URL has a database; the proxy changes no byte, so clients select theirs");
}

/// Reads what stands behind redis+sentinel://.
void set_sentinels(std::string_view rest, server_place& to) {
  to.kind = server_kind::sentinels;
  to.group = to.url;
  const std::size_t query = std::min(rest.find('?'), rest.size());
  to.url.resize(to.url.size() - (rest.size() - query));  // it may have a password
  rest = rest.substr(0, query);
  if (rest.find('@') != rest.npos) refuse_login();
  const std::size_t name = rest.find('/');
  if (name != rest.npos && rest.find('/', name + 1) != rest.npos) refuse_database();
}

/// Reads what stands behind redis+cluster://.
void set_cluster(std::string_view rest, server_place& to) {
  to.kind = server_kind::cluster;
  to.group = fmt::format("redis://{}", rest);
  const std::size_t login = rest.substr(0, rest.find('/')).rfind('@');
  if (login != rest.npos) to.url = fmt::format("redis+cluster://{}", rest.substr(login + 1));
}

}  // namespace

std::optional<unsigned> control_byte(std::string_view text) {
  constexpr unsigned char space = 0x20;
  constexpr unsigned char del = 0x7f;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < space || byte == del) return byte;
  }
  return std::nullopt;
}

server_place parse_server(std::string_view url) {
  server_place made;
  made.url = url;
  if (const auto byte = control_byte(url); byte)
    refuse(fmt::format("the URL has the byte {:#04x}", *byte));
  const std::size_t colon = url.find("://");
  const std::string_view scheme = url.substr(0, colon);
  if (colon == url.npos) refuse("not a URL such as redis://127.0.0.1:6379 or unix:///run/redis");
  std::string_view rest = url.substr(colon + 3);
  if (scheme.starts_with("rediss")) refuse(fmt::format("{}: the proxy does not speak TLS", scheme));
  if (scheme == "redis+sentinel") {
    set_sentinels(rest, made);
    return made;
  }
  if (scheme == "redis+cluster") {
    set_cluster(rest, made);
    return made;
  }
  if (rest.find('@') != rest.npos) refuse_login();
  if (rest.find('?') != rest.npos) refuse_database();
  if (scheme == "unix") {
    set_path(rest, made);
    return made;
  }
  if (scheme != "redis")
    refuse(fmt::format("{}: not redis, unix, redis+sentinel or redis+cluster", scheme));
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != rest.npos) refuse_database();
  set_host(rest, made);
  return made;
}

}  // namespace beck_redis_proxy
