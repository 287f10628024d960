// SPDX-License-Identifier: BSL-1.0
// The way to a server: its address or the sentinels that know it, the login and the stream for it,
// how it likes to be greeted, and when the next attempt to connect may be made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <beck/io/stream_layer.hpp>
#include <beck/redis/client_options.hpp>
#include <beck/redis/connector.hpp>
#include <beck/redis/credentials.hpp>

#include "redis/client/sentinels.hpp"

namespace beck::redis::detail {

/// What is known of a server that may end a connection at HELLO, as some proxies do.
enum class hello_state : std::uint8_t {
  usual,      ///< nothing: it is greeted with HELLO
  suspected,  ///< it has ended a connection without an answer: it is asked in RESP2 first
  ends,       ///< it answers in RESP2, and has ended a connection at HELLO
};

/// The way of one link. Thread: that of its context.
class connect_plan {
 public:
  /// Refers to `how`, which must outlive it. `user`: its connection.
  connect_plan(const any_io_executor& executor, const client_options& how, server_url to,
               shared<sentinels> by, link& user);
  /// Takes the way of a client, for one of its lanes.
  connect_plan(const connect_plan& home, const client_options& how, link& user);
  connect_plan& operator=(const connect_plan&) = delete;

  const server_url& url() const noexcept { return to_; }
  void secure(stream_layer& with) noexcept;
  void connect_with(connector& how) noexcept { connector_ = &how; }
  void login_with(credentials& from) noexcept { credentials_ = &from; }

  // --- sentinels
  /// Begins to ask the sentinels, if there are any. Throws std::bad_alloc.
  void join() {
    if (sentinels_) sentinels_->join(place_);
  }
  void leave() noexcept {
    if (sentinels_) sentinels_->leave(place_);
  }
  /// Returns whether the connection, or the attempt to make one, leads to another server.
  bool leads_elsewhere(const node_address& than) const noexcept {
    return !leads_to_.host.empty() && leads_to_ != than;
  }

  // --- attempts
  /// Makes the stream. Cancellation: through the awaiting scope.
  task<io_result<owned_stream>> open();
  /// Returns when the next attempt may be made.
  std::int64_t next_at() const noexcept { return next_at_; }
  void try_at(std::int64_t when) noexcept { next_at_ = when; }
  /// Puts the next attempt off by a random part of a time that doubles with each attempt.
  void put_off(std::int64_t now) noexcept;
  /// Begins with the shortest of these times again: a connection was good, or the server is
  /// another.
  void forgive() noexcept { failures_ = 0; }
  /// Notes that the server, or a sentinel, has refused the present attempt. `is_final`: it will
  /// refuse the next one, too.
  void refuse(bool is_final, std::string text) noexcept;
  /// Takes the end of the present attempt, and of its connection.
  void end_attempt() noexcept;
  /// Returns whether the attempt that has ended last was refused, and the next one will be.
  bool was_refused() const noexcept { return was_refused_; }
  /// Returns the words of the refusal of that attempt.
  const std::string& last_text() const noexcept { return last_text_; }

  // --- the greeting
  protocol version() const noexcept {
    return to_.version == protocol::resp2 ? protocol::resp2 : bounds_.protocol;
  }
  bool says_hello() const noexcept {
    return version() == protocol::resp3 && hello_ == hello_state::usual;
  }
  bool is_resp2() const noexcept {
    return version() == protocol::resp2 || hello_ == hello_state::ends;
  }
  /// Returns whether HELLO is to be said behind a greeting in RESP2. `may_do_without`: if that
  /// ends the connection, it is not said again.
  bool asks_again(bool may_do_without) noexcept;
  /// Notes that the server speaks RESP3.
  void note_resp3() noexcept { hello_ = hello_state::usual; }
  /// Notes the end of a connection. `was_cut`: at HELLO, without an answer.
  void note_end(bool was_ready, bool was_cut) noexcept;

 private:
  task<error_code> find_primary();
  task<error_code> find_login();

  const any_io_executor executor_;
  const client_options& bounds_;
  server_url to_;
  shared<sentinels> sentinels_;
  sentinel_user place_;    // among the connections of the sentinels
  node_address leads_to_;  // the primary; empty while the sentinels are asked
  stream_layer* layer_ = nullptr;
  connector* connector_ = nullptr;
  credentials* credentials_ = nullptr;
  std::string text_;       // about the present attempt
  std::string last_text_;  // about the one before
  std::int64_t next_at_ = 0;
  std::uint32_t failures_ = 0;  // attempts, since the last connection that was good
  hello_state hello_ = hello_state::usual;
  bool is_refused_ = false;   // the present attempt
  bool was_refused_ = false;  // the one before
};

}  // namespace beck::redis::detail
