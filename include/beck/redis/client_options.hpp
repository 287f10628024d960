// SPDX-License-Identifier: BSL-1.0
//
// How a client logs in, and its limits.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

/// The limits of a client. Every setter returns the object. A value. The time of a single command
/// is limited by beck::timeout(), which goes around it.
class client_options {
 public:
  /// Makes the defaults.
  constexpr client_options() noexcept = default;

  /// Sets how long the lookup of a name, the connection and the handshake of a layer may take.
  /// Default: 5 s.
  constexpr client_options& connect(duration most) noexcept {
    connect_ = most;
    return *this;
  }
  /// Sets how long commands wait for a connection while there is none; then they end with the
  /// reason for that, and outcome::not_sent. Default: 10 s.
  constexpr client_options& hold(duration most) noexcept {
    hold_ = most;
    return *this;
  }
  /// Lets commands that wait end as soon as an attempt to connect has failed.
  constexpr client_options& fail_fast() noexcept {
    fails_fast_ = true;
    return *this;
  }
  /// Sets after which time without a byte from the server it is sent a PING. Default: 2 s.
  constexpr client_options& ping(duration after) noexcept {
    ping_ = after;
    return *this;
  }
  /// Sets after which time without a byte from the server the connection is closed, with
  /// error::server_silent, unless it reads on of a write that fills the socket. More than ping().
  /// Default: 10 s.
  constexpr client_options& silence(duration most) noexcept {
    silence_ = most;
    return *this;
  }
  /// Sets the greatest number of calls that wait to be sent, and of those that wait for a lane.
  /// Then: error::queue_full. Default: 1,048,576.
  constexpr client_options& waiting(std::size_t most) noexcept {
    waiting_ = most;
    return *this;
  }
  /// Sets the greatest number of commands that were sent and have no reply; further ones wait.
  /// Default: 16,384.
  constexpr client_options& in_flight(std::uint32_t most) noexcept {
    in_flight_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets how often a call is sent, over connections that are lost. Default: 4.
  constexpr client_options& attempts(std::uint32_t most) noexcept {
    attempts_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets the greatest number of lanes at a time; then client::lane() waits. Default: 16.
  constexpr client_options& lanes(std::uint32_t most) noexcept {
    lanes_ = most != 0 ? most : 1;
    return *this;
  }
  /// Sets how long an idle connection is kept for the next lane. Default: 10 s.
  constexpr client_options& idle(duration most) noexcept {
    idle_ = most;
    return *this;
  }
  /// Sends an ECHO with a random text behind so many commands at a time, and closes the connection
  /// with protocol_error::failed_guard if the reply is another one: this finds replies that are out
  /// of step, as behind a faulty proxy, before many have reached other calls. Requires that the
  /// user may run ECHO. Lanes have none. Default: 0, which is none.
  constexpr client_options& guard(std::uint32_t commands) noexcept {
    guard_ = commands;
    return *this;
  }
  /// Sets the greatest version of the protocol that is spoken. With resp2 there are no
  /// subscriptions and caches. Default: resp3, and resp2 with servers that refuse it.
  constexpr client_options& version(redis::protocol most) noexcept {
    version_ = most;
    return *this;
  }
  /// Names the connections, for CLIENT LIST at the server, which shows the library and its version
  /// there, too. The first 64 bytes are sent, with "-" for those that no name may have. Default:
  /// none, and nothing about the library.
  constexpr client_options& name(std::string_view text) noexcept {
    name_ = beck::detail::fixed_text<64>();
    for (const char one : text) {
      const char plain[] = {one >= '!' && one <= '~' ? one : '-'};
      name_.append({plain, 1});
    }
    return *this;
  }
  /// Sets the bounds of each reply; beyond them it is read and dropped, and its call ends with
  /// error::reply_too_large. No other call notices. Default: 64 MiB, and 4,194,304 elements.
  constexpr client_options& replies(const reply_limits& most) noexcept {
    replies_ = most;
    return *this;
  }
  /// Sets the bounds of the protocol. A reply beyond them ends its call with a protocol_error, and
  /// the connection: calls beside it that only read are sent again over the next one, others end
  /// as those of a connection that is lost. A push beyond push_bytes is read and dropped: see
  /// push_event::dropped(). Default: those of parse_limits, but replies have up to 4 GiB, since
  /// replies() bounds them; begin with the default to change another one.
  constexpr client_options& protocol(const parse_limits& most) noexcept {
    protocol_ = most;
    return *this;
  }

  constexpr duration connect() const noexcept { return connect_; }
  constexpr duration hold() const noexcept { return hold_; }
  constexpr bool fails_fast() const noexcept { return fails_fast_; }
  constexpr duration ping() const noexcept { return ping_; }
  constexpr duration silence() const noexcept { return silence_; }
  constexpr std::size_t waiting() const noexcept { return waiting_; }
  constexpr std::uint32_t in_flight() const noexcept { return in_flight_; }
  constexpr std::uint32_t attempts() const noexcept { return attempts_; }
  constexpr std::uint32_t lanes() const noexcept { return lanes_; }
  constexpr duration idle() const noexcept { return idle_; }
  constexpr std::uint32_t guard() const noexcept { return guard_; }
  constexpr redis::protocol version() const noexcept { return version_; }
  constexpr std::string_view name() const noexcept { return {name_.data(), name_.size()}; }
  constexpr const reply_limits& replies() const noexcept { return replies_; }
  constexpr const parse_limits& protocol() const noexcept { return protocol_; }

 private:
  duration connect_ = duration(5'000'000'000);
  duration hold_ = duration(10'000'000'000);
  duration ping_ = duration(2'000'000'000);
  duration silence_ = duration(10'000'000'000);
  duration idle_ = duration(10'000'000'000);
  std::size_t waiting_ = 1'048'576;
  std::uint32_t in_flight_ = 16'384;
  std::uint32_t attempts_ = 4;
  std::uint32_t lanes_ = 16;
  std::uint32_t guard_ = 0;
  bool fails_fast_ = false;
  redis::protocol version_ = redis::protocol::resp3;
  beck::detail::fixed_text<64> name_;
  reply_limits replies_;
  parse_limits protocol_ = detail::client_parse_limits();
};

}  // namespace beck::redis
