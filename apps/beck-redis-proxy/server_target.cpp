// SPDX-License-Identifier: BSL-1.0
//
// TCP sends small commands at once, and finds a host that is gone.
#include "server_target.hpp"

#include <fmt/format.h>

#include <beck/coro/timeout.hpp>
#include <beck/net/connect_race.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/failure.hpp"
#include "common/output.hpp"

namespace beck_redis_proxy {
namespace {

using beck::ip::tcp;
using local = beck::local::stream_protocol;

}  // namespace

server_target::server_target(beck::io_context& context, const settings& asked) : asked_(asked) {
  if (asked.server.kind != server_kind::sentinels) return;
  try {
    group_.emplace(context, asked.server.group,
                   beck::redis::client_options{.connect_timeout = asked.connect});
  } catch (const std::invalid_argument& e) {
    throw beck_apps::wrong_usage(fmt::format("SERVER: {}", e.what()));
  }
}

beck::task<beck::io_result<std::uint64_t>> server_target::connect(tcp::socket& server) {
  auto opening = beck::timeout(open(server), asked_.connect);
  auto opened = co_await std::move(opening);
  if (!opened.error()) {
    beck::error_code ignored;
    server.set_option(tcp::no_delay(true), ignored);
    server.set_option(tcp::socket::keep_alive(true), ignored);
  }
  co_return opened;
}

beck::task<beck::io_result<std::uint64_t>> server_target::connect(local::socket& server) {
  auto connecting = server.async_connect(local::endpoint(asked_.server.path));
  const auto connected = co_await beck::timeout(std::move(connecting), asked_.connect);
  co_return beck::io_result<std::uint64_t>(connected.error(), 0);
}

beck::task<beck::io_result<std::uint64_t>> server_target::open(tcp::socket& server) {
  beck::io_result<std::uint64_t> result;
  std::string host = asked_.server.host;
  std::uint16_t port = asked_.server.port;
  if (group_) {
    auto finding = group_->find();
    const auto found = co_await std::move(finding);
    result.error_ = found.error();
    if (result.error_) co_return result;
    host = group_->host();
    port = group_->port();
    result.value_ = group_->changes();
  }
  const std::string service = std::to_string(port);
  auto connecting = beck::async_connect(server, host, service);
  const auto connected = co_await std::move(connecting);
  result.error_ = connected.error();
  co_return result;
}

std::string server_target::reason(const beck::error_code& ec) const {
  if (group_ && !group_->error_text().empty()) return std::string(group_->error_text());
  return ec == beck::error::timeout ? "no answer within --connect" : ec.message();
}

beck::task<> server_target::follow() {
  auto finding = group_->find();
  beck::ignore(co_await std::move(finding));
  for (std::uint64_t seen = 0;;) {
    auto waiting = group_->wait_for_change(seen);
    const auto changed = co_await std::move(waiting);
    if (changed.error()) co_return;
    if (seen != 0) ++counts_.switches;
    seen = group_->changes();
    const std::string_view host =
        control_byte(group_->host()) ? "(a name with a control character)" : group_->host();
    beck_apps::say(fmt::format("beck-redis-proxy: the primary of {} is {}:{}", asked_.server.url,
                               host, group_->port()));
  }
}

}  // namespace beck_redis_proxy
