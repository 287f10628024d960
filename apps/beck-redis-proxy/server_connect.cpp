// SPDX-License-Identifier: BSL-1.0
//
// TCP sends small commands at once, and finds a host that is gone.
#include "server_connect.hpp"

#include <beck/coro/timeout.hpp>
#include <beck/net/connect_race.hpp>
#include <string>
#include <utility>

namespace beck_redis_proxy {

using beck::ip::tcp;
using local = beck::local::stream_protocol;

beck::task<beck::error_code> connect_server(tcp::socket& server, const settings& asked) {
  const auto port = std::to_string(asked.server.port);
  auto connecting = beck::async_connect(server, asked.server.host, port);
  const auto connected = co_await beck::timeout(std::move(connecting), asked.connect);
  if (connected.error()) co_return connected.error();
  beck::error_code ignored;
  server.set_option(tcp::no_delay(true), ignored);
  server.set_option(tcp::socket::keep_alive(true), ignored);
  co_return beck::error_code();
}

beck::task<beck::error_code> connect_server(local::socket& server, const settings& asked) {
  auto connecting = server.async_connect(local::endpoint(asked.server.path));
  const auto connected = co_await beck::timeout(std::move(connecting), asked.connect);
  co_return connected.error();
}

}  // namespace beck_redis_proxy
