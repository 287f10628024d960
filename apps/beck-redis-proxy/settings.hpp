// SPDX-License-Identifier: BSL-1.0
//
// The settings of the command line.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/net/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server_place.hpp"

namespace beck_redis_proxy {

inline constexpr std::size_t clients_most = 1'000'000;
inline constexpr std::size_t clients_usual = 10'000;
inline constexpr std::size_t shared_connections_most = 64;

struct settings {
  server_place server;
  std::optional<beck::ip::tcp::endpoint> at;  // none: only the UNIX socket
  std::string unix_path;                      // empty: none
  std::optional<beck::ip::tcp::endpoint> metrics;
  std::optional<std::size_t> clients_max;  // none: clients_usual, as far as descriptors allow
  bool is_shared = false;
  std::size_t shared_connections = 4;
  beck::duration connect = beck::duration(5'000'000'000);
  beck::duration hold = beck::duration(10'000'000'000);  // in front of a cluster
  beck::duration idle;                                   // zero: no limit
  beck::duration drain = beck::duration(10'000'000'000);
};

}  // namespace beck_redis_proxy
