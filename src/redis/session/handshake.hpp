// SPDX-License-Identifier: BSL-1.0
// The URL of a server, and the first commands of a connection to it: the version of the protocol,
// the login, the database, in one write. A server that does not know HELLO is logged in to the old
// way, with RESP2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

  /// Makes the greeting in a version of the protocol. `name`: of the connection; may be empty.
  handshake(const server_url& to, protocol version, std::string_view name = {},
            stage when = stage::begin);

  /// Returns the version of the protocol.
  protocol version() const noexcept { return version_; }
  stage when() const noexcept { return when_; }

  /// Returns whether all replies have come.
  bool is_done() const noexcept { return !is_under_way() && answered() == commands(); }
  /// Returns why the server did not accept it; none if it did. Requires is_done().
  error_code refusal() const noexcept;
  /// Returns the server's words for that.
  std::string_view refusal_text() const noexcept;
  /// Returns whether the refusal will be the same the next time. Requires is_done().
  bool is_final() const noexcept;
  /// Returns whether the refusal means that the server does not speak RESP3. Requires is_done().
  bool asks_for_resp2() const noexcept;

  reply_place place_of(std::uint32_t i) noexcept override {
    const bool is_role = asks_for_role_ && i + 1 == commands();
    return is_role ? detail::place_of(role_) : detail::place_of(replies_[i]);
  }
  void done(const error_code&) noexcept override {}

 private:
  static constexpr std::size_t replies_max = 7;

  template <class... Args>
  void push_optional(std::string_view name, const Args&... args) {
    commands_.push(name, args...);
    is_optional_[commands_.size() - 1] = true;
  }
  void push_rest(const server_url& to, std::string_view name);
  const reply<void>* refused() const noexcept;
  bool is_primary() const noexcept;

  protocol version_;
  stage when_;
  request commands_;
  command_bytes part_;
  reply<void> replies_[replies_max];
  bool is_optional_[replies_max] = {};  // the server may refuse it
  reply<value> role_;                   // the last one, if it was asked for
  bool asks_for_role_ = false;
};

}  // namespace beck::redis::detail
