// SPDX-License-Identifier: BSL-1.0
// The way to a server: its address or the sentinels that know it, the login and the stream for it;
// when the next attempt to connect may be made, and how the last one has ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <beck/io/stream_layer.hpp>
#include <beck/redis/client_options.hpp>
#include <beck/redis/connector.hpp>
#include <beck/redis/credentials.hpp>
#include <beck/run/stop_token.hpp>

#include "redis/client/sentinels.hpp"

namespace beck::redis::detail {

/// The way of one link. Thread: that of its context.
class connect_plan {
 public:
  /// Refers to `how`, which must outlive it. `user`: its link. `may_leave`: a replica is left, at
  /// times.
  connect_plan(const any_io_executor& executor, const client_options& how, server_url to,
               shared<sentinels> by, link& user, bool may_leave);
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

  // --- replicas
  /// Returns whether a server that says it is a replica is left now.
  bool leaves_replicas(std::int64_t now) const noexcept { return now >= leave_at_; }
  /// Notes that a replica is left. Unless sentinels or a map have named the primary, the next one
  /// is not left soon: it may be the only server at the address.
  void note_replica(std::int64_t now) noexcept;

  // --- attempts
  /// Returns whether the last attempt to connect has failed, or its connection was lost, and the
  /// next one is not due.
  bool is_pausing() const noexcept;
  /// Waits until the next attempt is due, or until stop(). Throws std::bad_alloc.
  task<> pause();
  /// Makes the stream, unless stop() or the limit of the time comes first. Requires not
  /// is_pausing(). Throws std::bad_alloc.
  task<io_result<owned_stream>> open();
  /// Ends the present attempt or pause.
  void stop() noexcept { stopping_.request_stop(); }
  /// Makes the next attempt due, and ends the pause.
  void hurry() noexcept;
  /// Puts the next attempt off by a random part of a time that doubles with each attempt.
  void put_off() noexcept;
  /// Begins with the shortest of these times again: a connection was good, or the server is
  /// another.
  void forgive() noexcept { failures_ = 0; }
  /// Notes that the server, or a sentinel, has refused the present attempt. `is_final`: it will
  /// refuse the next one, too.
  void refuse(bool is_final, std::string text) noexcept;
  /// Takes the end of the present attempt, or of its connection, with `cause`.
  void end_attempt(const error_code& cause) noexcept;
  /// Returns why the attempt that has ended last, or its connection, has; timeout: there was none.
  const error_code& last_cause() const noexcept { return last_cause_; }
  /// Returns whether the server has refused that attempt, and will refuse the next one: for its
  /// login, and not because it has too many clients.
  bool was_refused() const noexcept { return was_refused_; }
  /// Returns the words of the refusal of that attempt.
  const std::string& last_text() const noexcept { return last_text_; }

 private:
  stop_token fresh_token();
  task<io_result<owned_stream>> make_stream();
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
  stop_source stopping_;   // of the present attempt or pause
  std::string text_;       // about the present attempt
  std::string last_text_;  // about the one before
  error_code last_cause_ = beck::error::timeout;
  std::int64_t leave_at_;  // from when on a replica is left
  std::int64_t next_at_ = 0;
  std::uint32_t failures_ = 0;  // attempts, since the last connection that was good
  bool is_refused_ = false;     // the present attempt
  bool was_refused_ = false;    // the one before
};

}  // namespace beck::redis::detail
