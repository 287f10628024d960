// SPDX-License-Identifier: BSL-1.0
//
// How a client logs in, and its limits.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::redis {

namespace detail {

/// Returns the bounds of the protocol that a client has: replies are bounded by reply_limits, which
/// end a call, and not the connection.
constexpr parse_limits client_parse_limits() noexcept {
  parse_limits most;
  most.reply_bytes = most.elements = UINT32_MAX;
  return most;
}

}  // namespace detail

/// The limits of a client, and its name. The time of a single command is limited by
/// beck::timeout(), which goes around it.
struct client_options {
  /// How long the lookup of a name, the connection and the handshake of a layer may take; then the
  /// attempt fails with beck::error::timeout.
  duration connect_timeout = duration::seconds(5);
  /// How long commands wait for a connection while there is none; then they end with the reason for
  /// that, and outcome::not_sent.
  duration hold_timeout = duration::seconds(10);
  /// Whether commands that wait end as soon as an attempt to connect has failed.
  bool fails_fast = false;
  /// The time without a byte from the server after which it is sent a PING.
  duration ping_interval = duration::seconds(2);
  /// The time without a byte from the server after which the connection is closed, with
  /// error::server_silent, unless it reads on of a write that fills the socket. More than
  /// ping_interval.
  duration silence_timeout = duration::seconds(10);
  /// The greatest number of calls that wait to be sent, and of those that wait for a lane. Then:
  /// error::queue_full.
  std::size_t waiting = 1'048'576;
  /// The greatest number of commands that were sent and have no reply; further ones wait. 0 counts
  /// as 1.
  std::uint32_t in_flight = 16'384;
  /// How often a call is sent, over connections that are lost. 0 counts as 1.
  std::uint32_t attempts = 4;
  /// The greatest number of lanes at a time; then client::lane() waits. 0 counts as 1.
  std::uint32_t lanes = 16;
  /// How long an idle connection is kept for the next lane.
  duration idle_timeout = duration::seconds(10);
  /// The number of commands behind which an ECHO with a random text is sent. If its reply is
  /// another one, the connection is closed with protocol_error::failed_guard: this finds replies
  /// that are out of step, as behind a faulty proxy, before many have reached other calls. Requires
  /// that the user may run ECHO. Lanes have none. 0: none.
  std::uint32_t guard_commands = 0;
  /// The greatest version of the protocol that is spoken: resp3, and resp2 with servers that refuse
  /// it. With resp2 there are no subscriptions and caches.
  redis::protocol protocol = redis::protocol::resp3;
  /// The name of the connections, for CLIENT LIST at the server, which shows the library and its
  /// version there, too. The first 64 bytes are sent, with "-" for those that no name may have.
  /// Valid until the constructor of the client, or of the cluster, returns. Empty: none, and
  /// nothing about the library.
  std::string_view name = {};
  /// The bounds of each reply; beyond them it is read and dropped, and its call ends with
  /// error::reply_too_large. No other call notices.
  reply_limits replies = {};
  /// The bounds of the protocol. A reply beyond them ends its call with a protocol_error, and the
  /// connection: calls beside it that only read are sent again over the next one, others end as
  /// those of a connection that is lost. A push beyond push_bytes is read and dropped: see
  /// push_event::dropped(). The defaults are those of parse_limits, but replies have up to 4 GiB,
  /// since `replies` bounds them; begin with the default to change another one.
  parse_limits parsing = detail::client_parse_limits();
};
static_assert(std::is_trivially_destructible_v<client_options>);

}  // namespace beck::redis
