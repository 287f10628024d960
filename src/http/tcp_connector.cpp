// SPDX-License-Identifier: BSL-1.0
// An address is connected to directly; only a name needs a lookup and a race.
#include "http/tcp_connector.hpp"

#include <string>

#include <beck/http/client_error.hpp>
#include <beck/net/connect_race.hpp>
#include <beck/net/socket_stream.hpp>

namespace beck::http::detail {

task<io_result<owned_stream>> tcp_connector::connect(any_io_executor on, const origin& to) {
  io_result<owned_stream> result;
  stream_layer* const layer = layer_;
  if (to.is_https && layer == nullptr) {
    result.error_ = client_error::no_tls;
    co_return result;
  }
  ip::tcp::socket socket(on);
  error_code ec;
  if (to.kind == host_kind::name) {
    const std::string service = std::to_string(to.port);
    const happy_eyeballs how;
    auto connected = co_await async_connect(socket, to.host, service, how);
    ec = connected.error();
  } else {
    const ip::tcp::endpoint at(ip::make_address(to.host, ec), to.port);
    if (!ec) {
      auto connected = co_await socket.async_connect(at);
      ec = connected.error();
    }
  }
  if (!ec) socket.set_option(ip::tcp::no_delay(true), ec);
  result.error_ = ec;
  if (!ec) result.value_ = owned_stream(new socket_stream(std::move(socket)));
  if (!ec && to.is_https) {
    auto secured = layer->connect(std::move(result.value_), to.host);
    result = co_await std::move(secured);
  }
  co_return result;
}

}  // namespace beck::http::detail
