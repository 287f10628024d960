// SPDX-License-Identifier: BSL-1.0
//
// The answers of the proxy to clients that look for the nodes of a cluster: it is the only one.
#pragma once

#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/reply_writer.hpp>
#include <cstdint>
#include <string>

namespace beck_redis_proxy {

/// The address at which a client has reached the proxy. A value.
struct cluster_face {
  std::string host;  ///< empty on a UNIX socket
  std::uint16_t port = 0;
};

/// Returns that of a client's connection.
cluster_face face_of(const beck::ip::tcp::socket& client);
inline cluster_face face_of(const beck::local::stream_protocol::socket&) { return {}; }

/// Returns whether the face answers a command: CLUSTER SLOTS, SHARDS, NODES, INFO, MYID, MYSHARDID
/// or KEYSLOT.
bool is_about_face(const beck::redis::arguments& command) noexcept;

/// Answers such a command, as a node that has all slots. Throws std::bad_alloc.
void answer(const cluster_face& of, const beck::redis::arguments& command,
            beck::redis::reply_writer& to);

}  // namespace beck_redis_proxy
