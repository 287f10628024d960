// SPDX-License-Identifier: BSL-1.0
//
// Connects a socket to the server.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include "settings.hpp"

namespace beck_redis_proxy {

/// Connects within --connect. Requires that the server is on TCP.
beck::task<beck::error_code> connect_server(beck::ip::tcp::socket& server, const settings& asked);
/// Connects within --connect. Requires that the server is on a UNIX socket.
beck::task<beck::error_code> connect_server(beck::local::stream_protocol::socket& server,
                                            const settings& asked);

}  // namespace beck_redis_proxy
