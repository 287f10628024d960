// SPDX-License-Identifier: BSL-1.0
// The work of a client on its connections, without I/O: bytes and times come in, bytes to be
// written and completions come out. A session outlives its connections, and carries the exchanges
// from one to the next. Its users queue exchanges, write and read through its parts; the session
// has the work that concerns several of them: ends from outside, and the change of connections.
#pragma once

#include <cstdint>
#include <string_view>

#include <beck/redis/exchange.hpp>

#include "redis/session/blocking_state.hpp"
#include "redis/session/command_guard.hpp"
#include "redis/session/exchange_queues.hpp"
#include "redis/session/push_reader.hpp"
#include "redis/session/read_side.hpp"
#include "redis/session/repeat_rules.hpp"
#include "redis/session/write_side.hpp"

namespace beck::redis::detail {

/// The work of one connection after the other. Times are nanoseconds of any one steady clock. When
/// it is destroyed nothing may be under way, see drop_all(). Thread: one at a time.
class session {
 public:
  /// `pushes`: nullptr drops them.
  explicit session(const session_limits& most, push_sink* pushes) noexcept;
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // --- its parts

  /// The exchanges that wait to be sent. It is open once the connection is greeted.
  exchange_queues& queues() noexcept { return queues_; }
  /// The bytes to be written, and the commands that have no reply.
  write_side& writer() noexcept { return writer_; }
  /// The bytes that have come.
  read_side& reader() noexcept { return reader_; }
  /// The blocking command of a lane.
  const blocking_state& blocking() const noexcept { return blocking_; }
  /// Sets session_limits::leaves_replicas from now on.
  void leave_replicas(bool leaves) noexcept { rules_.leave_replicas(leaves); }

  // --- exchanges that end

  /// Ends an exchange with `why`. Replies to commands that were sent are dropped. done() is
  /// called inside, or, if a write refers to its bytes, at the end of that write.
  void cancel(exchange& one, const error_code& why, std::string_view text = {}) noexcept;
  /// Forgets an exchange that is destroyed before its end, without done(). Requires that no write
  /// is under way.
  void forget(exchange& one) noexcept;
  /// Drops all exchanges: the context is being destroyed.
  void drop_all() noexcept;
  /// Ends, with `why`, the exchanges that wait to be sent for the first time or again, and have
  /// waited since a time before `before`, see exchange_queues::waiting_since(). `text`: explains
  /// it. Call it while no connection is ready.
  void end_waiting(const error_code& why, std::int64_t before, std::string_view text = {}) noexcept;

  // --- lanes: commands are sent in the order of their exchanges, and none behind one that blocks

  /// Lets the reply to a blocking command that was written decide how its exchange ends: see
  /// blocking_state::is_unblocked(). Other exchanges wait until the queues open, but for greetings.
  /// Returns false, and does nothing, if the exchange does not wait in such a command.
  bool stop(exchange& one, const error_code& why) noexcept;
  /// Ends that exchange with the `why` of stop(). Requires blocking_state::is_unblocked().
  void end_unblocked() noexcept;
  /// Lets exchanges wait for a greeting again, behind which the connection is as new. Returns
  /// false, and does nothing, if exchanges are under way, or a greeting would not be answered.
  bool begin_again() noexcept;

  // --- connections

  /// Begins a new connection.
  void connected(std::int64_t now) noexcept;
  /// Takes the end of the connection: exchanges that may be sent again wait for the next one, in
  /// front of all others, and the rest ends with `cause`. If that is a protocol_error, no command
  /// is sent again; of a limit, only that of the reply is not. Requires that no write is under way.
  void lost(const error_code& cause, std::int64_t now) noexcept;
  /// Frees memory that an idle connection does not need.
  void trim() noexcept;

 private:
  void detach(exchange& one) noexcept;

  repeat_rules rules_;
  exchange_queues queues_;
  blocking_state blocking_;
  command_guard guard_;
  write_side writer_;
  read_side reader_;
};

}  // namespace beck::redis::detail
