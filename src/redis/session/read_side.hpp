// SPDX-License-Identifier: BSL-1.0
// The direction in of a session: the bytes that a server sends become tokens, the tokens become
// pushes and the replies to the commands that were sent, and a reply may end its exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/flat_buffer.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>

#include "redis/session/blocking_state.hpp"
#include "redis/session/command_guard.hpp"
#include "redis/session/exchange_queues.hpp"
#include "redis/session/push_reader.hpp"
#include "redis/session/repeat_rules.hpp"
#include "redis/session/write_side.hpp"

namespace beck::redis::detail {

/// The input of one connection after the other: reads replies to the commands of the write side.
/// Thread: that of the session.
class read_side {
 public:
  /// `pushes`: nullptr drops them.
  read_side(const session_limits& most, push_sink* pushes, const repeat_rules& rules,
            exchange_queues& queues, write_side& writer, const command_guard& guard,
            blocking_state& blocking) noexcept;

  /// Takes the beginning of a connection.
  void begin(std::int64_t now) noexcept { heard_at_ = now; }
  /// Sets the version of the protocol. Requires that no reply has begun.
  void use(protocol version) noexcept { parser_.use(version); }
  /// Takes bytes that have arrived. Returns an error if they are no replies, or those of other
  /// commands: the connection must be closed then. Throws std::bad_alloc, and as token_watch::see()
  /// and the sink of pushes, with the same consequence.
  error_code received(std::string_view bytes, std::int64_t now);
  /// Drops the rest of the reply that is being read, if it is that of `one`, which ends.
  void leave(const exchange& one) noexcept;
  /// Takes the end of the connection.
  void lose() noexcept;
  /// Frees memory that an idle connection does not need.
  void trim() noexcept;

  // --- observers

  /// Returns when bytes of a reply have last come, or when the connection began: a server that only
  /// pushes does not answer.
  std::int64_t heard_at() const noexcept { return heard_at_; }
  /// Returns the place in the stream where the last error is; of protocol_error::unexpected_reply a
  /// place behind the first byte of that reply.
  std::uint64_t error_offset() const noexcept { return error_offset_; }
  /// Returns whether a part of a push has come.
  bool is_in_push() const noexcept { return pushes_.is_reading(); }
  /// Returns whether a reply said that the server is a replica. Only with
  /// session_limits::leaves_replicas.
  bool is_at_replica() const noexcept { return is_at_replica_; }

 private:
  static constexpr std::size_t tokens_max = 64;

  void keep(std::string_view bytes);
  error_code take(const token& next);
  error_code take_reply(const token& next, const pending_entry& entry);
  void end_push();
  void end_reply() noexcept;
  error_code end_value(exchange* of) noexcept;
  void end_stopped(exchange& one, const error_code& ec) noexcept;
  bool keep_refused(exchange& one) noexcept;

  const repeat_rules& rules_;
  exchange_queues& queues_;
  write_side& writer_;
  const command_guard& guard_;
  blocking_state& blocking_;
  const parse_limits most_;
  reply_parser parser_;
  token tokens_[tokens_max];
  flat_buffer rest_;  // bytes that are no whole token yet
  reply_reader reader_;
  reply_status* status_ = nullptr;  // of the reply that is being read, if it is not dropped
  push_reader pushes_;
  std::int64_t now_ = 0;  // when the last bytes came
  std::int64_t heard_at_ = 0;
  std::uint64_t error_offset_ = 0;
  bool is_reading_ = false;  // a part of a reply has come
  bool is_at_replica_ = false;
};

}  // namespace beck::redis::detail
