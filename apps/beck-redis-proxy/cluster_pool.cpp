// SPDX-License-Identifier: BSL-1.0
//
// A connection is made when a command needs it.
#include "cluster_pool.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "common/failure.hpp"

namespace beck_redis_proxy {
namespace {

namespace redis = beck::redis;

constexpr std::uint32_t line_bytes_most = 1024 * 1024;
/// Beyond these bounds a connection ends, and with it the commands of other clients.
redis::parse_limits protocol_bounds() {
  redis::parse_limits most = redis::client_options().parsing;
  most.line_bytes = line_bytes_most;
  return most;
}

}  // namespace

cluster_pool::cluster_pool(beck::io_context& context, const settings& asked, server_log& log)
    : log_(log) {
  make(resp2_, context, asked, redis::protocol::resp2);
  make(resp3_, context, asked, redis::protocol::resp3);
}

void cluster_pool::make(std::optional<redis::cluster>& one, beck::io_context& context,
                        const settings& asked, redis::protocol version) {
  const redis::cluster_options how{.connections = {.connect_timeout = asked.connect,
                                                   .hold_timeout = asked.hold,
                                                   .protocol = version,
                                                   .parsing = protocol_bounds()}};
  try {
    one.emplace(context, asked.server.group, how);
  } catch (const std::invalid_argument& e) {
    throw beck_apps::wrong_usage(fmt::format("SERVER: {}", e.what()));
  }
}

void cluster_pool::note(const batch_end& end) {
  if (end.is_lost) ++counts_.lost;
  if (!end.unreached.empty()) {
    log_.note_lost(end.unreached);
  } else if (end.has_reached) {
    log_.note_reached();
  }
}

void cluster_pool::close() noexcept {
  resp2_->close();
  resp3_->close();
}

cluster_counters cluster_pool::seen() const noexcept {
  cluster_counters now = counts_;
  for (const auto* const one : {&*resp2_, &*resp3_}) {
    const redis::cluster_stats of = one->stats();
    now.nodes += of.nodes;
    now.maps += of.maps;
    now.moved += of.moved;
    now.asked += of.asked;
    now.postponed += of.refused;
    now.resent += of.resent;
    now.divided += of.divided;
  }
  return now;
}

}  // namespace beck_redis_proxy
