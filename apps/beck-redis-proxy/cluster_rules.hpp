// SPDX-License-Identifier: BSL-1.0
//
// Which commands a proxy in front of a cluster sends on, answers itself, or refuses.
#pragma once

#include <beck/redis/arguments.hpp>
#include <cstdint>
#include <string_view>

namespace beck_redis_proxy {

/// The way of a command in front of a cluster.
enum class cluster_way : std::uint8_t {
  send,        ///< to the node of its keys; any node has the same answer if it has none
  answer,      ///< by the proxy: it is about the client's connection
  connection,  ///< refused: it needs a connection of its own
  blocks,      ///< refused: it may hold up the connection that all clients share
  keys,        ///< refused: the table of commands does not have it, so its keys are not known
  node,        ///< refused: it has no key, and each node would answer for itself
  slots,       ///< refused: its keys are in several slots
};

/// Returns the way of a command. Pure.
cluster_way way_of(const beck::redis::arguments& command) noexcept;

/// Returns why commands of a way that is refused are refused, to stand behind their name.
std::string_view refusal_text(cluster_way way) noexcept;

}  // namespace beck_redis_proxy
