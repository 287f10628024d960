// SPDX-License-Identifier: BSL-1.0
//
// The place of the Redis server, or of those that know it, from its URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beck_redis_proxy {

/// What a URL leads to.
enum class server_kind : std::uint8_t {
  single,     ///< one server
  sentinels,  ///< the primary that sentinels name
  cluster,    ///< the nodes of a cluster
};

struct server_place {
  server_kind kind = server_kind::single;
  std::string host;
  std::uint16_t port = 6379;
  std::string path;   // of a UNIX socket; empty: host and port
  std::string url;    // as it was given, without a login
  std::string group;  // of sentinels, of a cluster: the URL for the library
};

/// Returns the first control character of `text`, which would tear a line in two; nothing if there
/// is none.
std::optional<unsigned> control_byte(std::string_view text);

/// Reads redis://host[:port], unix:///path,
/// redis+sentinel://host[:port],.../name[?sentinel_login=user:password], or
/// redis+cluster://[user:password@]host[:port],...; the library checks the last two further. Throws
/// wrong_usage, also for rediss, and, unless for a cluster, for a password and a database, which a
/// proxy that changes no byte cannot send.
server_place parse_server(std::string_view url);

}  // namespace beck_redis_proxy
