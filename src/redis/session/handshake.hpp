// SPDX-License-Identifier: BSL-1.0
// The URL of a server, and the commands that a link sends for itself. The first ones of a
// connection are the version of the protocol, the login and the database, in one write. A server
// that does not know HELLO is logged in to the old way, with RESP2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/request.hpp>
#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>

namespace beck::redis::detail {

/// A server and a login.
struct server_url {
  std::string host;  ///< without the brackets of an IPv6 address; empty with a path
  std::string path;  ///< of a UNIX socket
  std::uint16_t port = 6379;
  bool is_secure = false;
  std::string user;
  std::string password;
  std::uint32_t database = 0;
  protocol version = protocol::resp3;  ///< the greatest one that is spoken
  bool reads_replicas = false;         ///< READONLY: a replica of a cluster answers reads itself
  bool must_be_primary = false;        ///< ROLE: sentinels have named it
};

/// Returns a part of a URL with each %xx replaced by its byte. Throws std::invalid_argument.
std::string decoded(std::string_view text);

/// Parses a URL; see redis::client. Throws std::invalid_argument, whose text does not contain the
/// URL: it may have a password.
server_url parse_server_url(std::string_view text);

/// The greeting of one connection. Thread: that of its session.
class handshake final : public exchange {
 public:
  /// When a greeting is sent.
  enum class stage : std::uint8_t {
    begin,   ///< on a new connection
    again,   ///< behind a RESET, of a connection that was used
    change,  ///< of the version only, behind a greeting in RESP2
  };
  enum class answer : std::uint8_t {
    accepted,
    no_resp3,          ///< the server does not speak this version
    refused,           ///< maybe not the next time
    refused_for_good,  ///< the refusal will be the same the next time
  };
  /// How the server has answered.
  struct verdict {
    handshake::answer answer = handshake::answer::accepted;
    error_code why;         ///< none: accepted
    std::string_view text;  ///< the server's words for that; valid as long as the greeting
  };

  /// Makes the greeting in a version of the protocol. `name`: of the connection; may be empty.
  handshake(const server_url& to, protocol version, std::string_view name = {},
            stage when = stage::begin);

  /// Returns the version of the protocol.
  protocol version() const noexcept { return version_; }
  stage when() const noexcept { return when_; }

  /// Returns whether all replies have come.
  bool is_done() const noexcept { return !is_under_way() && answered() == commands(); }
  /// Judges the replies. Requires is_done().
  verdict judge() const noexcept;

  reply_place place_of(std::uint32_t i) noexcept override {
    return needs_[i] == need::primary ? detail::place_of(role_) : detail::place_of(replies_[i]);
  }
  void done(const error_code&) noexcept override {}

 private:
  /// The reply without which the greeting is refused.
  enum class need : std::uint8_t { success, any_reply, primary };

  static constexpr std::size_t commands_max = 8;

  template <class... Args>
  void push(need needed, std::string_view name, const Args&... args) {
    BECK_ASSERT(commands_.size() < commands_max, "a greeting has too many commands");
    needs_[commands_.size()] = needed;
    commands_.push(name, args...);
  }

  const protocol version_;
  const stage when_;
  request commands_;
  command_bytes part_;
  reply<void> replies_[commands_max];
  reply<value> role_;  // to the command that needs a primary
  need needs_[commands_max] = {};
};

/// A command of a link itself, with a reply that is a text: PING, for example.
class own_command final : public exchange {
 public:
  template <class... Args>
  explicit own_command(std::string_view name, const Args&... args) {
    commands_.push(name, args...);
    part_ = {commands_.bytes(), 1};
    set_commands(&part_, 1);
  }
  const reply<std::string>& result() const noexcept { return reply_; }
  reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(reply_); }
  void done(const error_code&) noexcept override {}

 private:
  request commands_;
  command_bytes part_;
  reply<std::string> reply_;
};

}  // namespace beck::redis::detail
