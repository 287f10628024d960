// SPDX-License-Identifier: BSL-1.0
// The work of a client on its connections, without I/O: bytes and times come in, bytes to be
// written and completions come out. A session outlives its connections, and carries the exchanges
// from one to the next. Its parts have the queues and the two directions; the session has the work
// that concerns several of them: the ends of exchanges, and the change of connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/redis/exchange.hpp>

#include "redis/session/blocking_state.hpp"
#include "redis/session/command_guard.hpp"
#include "redis/session/exchange_queues.hpp"
#include "redis/session/pending_commands.hpp"
#include "redis/session/push_reader.hpp"
#include "redis/session/repeat_rules.hpp"
#include "redis/session/reply_side.hpp"
#include "redis/session/token_input.hpp"
#include "redis/session/write_side.hpp"

namespace beck::redis::detail {

/// The work of one connection after the other. Times are nanoseconds of any one steady clock. When
/// it is destroyed nothing may be under way, see drop_all(). Thread: one at a time.
class session {
 public:
  /// The number of buffers that gather() fills.
  static constexpr std::size_t parts_max = gathered_write::parts_max;

  /// `pushes`: nullptr drops them.
  explicit session(const session_limits& most, push_sink* pushes) noexcept;
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // exchanges

  /// Takes an exchange behind all others.
  void submit(exchange& one, std::int64_t now) noexcept;
  /// Takes an exchange that begins a connection, or subscribes: it goes before all others, which
  /// wait until set_ready(), and ends with its connection.
  void greet(exchange& one, std::int64_t now) noexcept;
  /// Ends the greeting: the exchanges may be sent.
  void set_ready() noexcept { queues_.open(); }
  /// Sets session_limits::leaves_replicas from now on.
  void leave_replicas(bool leaves) noexcept { rules_.leave_replicas(leaves); }
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
  /// Lets exchanges be sent again whose commands the server has refused for now, as while it loads
  /// its data, if exchange_queues::wake_at() has come.
  void wake(std::int64_t now) noexcept { queues_.wake(now); }
  /// Returns the exchanges that wait to be sent.
  const exchange_queues& queues() const noexcept { return queues_; }
  /// Returns how many commands were written and have no reply.
  std::uint32_t in_flight() const noexcept { return pending_.in_flight(); }

  // lanes: commands are sent in the order of their exchanges, and none behind one that blocks

  /// Lets the reply to a blocking command that was written decide how its exchange ends: see
  /// blocking_state::is_unblocked(). Other exchanges wait until set_ready(), but for greetings.
  /// Returns false, and does nothing, if the exchange does not wait in such a command.
  bool stop(exchange& one, const error_code& why) noexcept;
  /// Ends that exchange with the `why` of stop(). Requires blocking_state::is_unblocked().
  void end_unblocked() noexcept;
  /// Returns the blocking command.
  const blocking_state& blocking() const noexcept { return blocking_; }
  /// Returns whether no answer is due, and the next command gets none: behind CLIENT REPLY.
  bool is_muted() noexcept {
    return !writer_.is_answered() && (pending_.empty() || pending_.front().is_silent);
  }
  /// Lets exchanges wait for a greeting again, behind which the connection is as new. Returns
  /// false, and does nothing, if exchanges are under way, or a greeting would not be answered.
  bool begin_again() noexcept;

  // connections

  /// Begins a new connection.
  void connected(std::int64_t now) noexcept;
  /// Sets the version of the protocol. Requires that no reply has begun.
  void use(protocol version) noexcept { input_.use(version); }
  /// Takes the end of the connection: exchanges that may be sent again wait for the next one, in
  /// front of all others, and the rest ends with `cause`. If that is a protocol_error, no command
  /// is sent again; of a limit, only that of the reply is not. Requires that no write is under way.
  void lost(const error_code& cause, std::int64_t now) noexcept;

  // output

  /// Returns whether there are bytes to write, or exchanges that may be written now.
  bool has_output() const noexcept { return writer_.has_output(); }
  /// Fills `to` with the buffers of the next write: the rest of the last one, or the commands that
  /// have gathered meanwhile. Returns their number; 0: there is nothing to write. They are valid
  /// until wrote(). Throws std::bad_alloc; the connection must be closed then.
  std::size_t gather(const_buffer (&to)[parts_max]) { return writer_.gather(to, now_); }
  /// Takes the number of bytes of gather()'s that were written.
  void wrote(std::size_t bytes) noexcept;

  // input

  /// Takes bytes that have arrived. Returns an error if they are no replies: the connection must be
  /// closed then. Throws std::bad_alloc, with the same consequence.
  error_code received(std::string_view bytes, std::int64_t now);
  /// Frees memory that an idle connection does not need.
  void trim() noexcept;
  /// Returns whether a reply said that the server is a replica. Only with
  /// session_limits::leaves_replicas.
  bool is_at_replica() const noexcept { return is_at_replica_; }
  /// Returns whether all commands that were sent whole are answered.
  bool is_answered() noexcept { return pending_.is_answered(); }
  /// Returns the bytes that have come: when, and where the last error of received() is.
  const token_input& input() const noexcept { return input_; }

 private:
  error_code take(const token& next);
  void end_push();
  void end_reply() noexcept;
  void end_stopped(exchange& one, const error_code& ec) noexcept;
  void end_silences() noexcept;
  bool keep_refused(exchange& one) noexcept;
  void detach(exchange& one) noexcept;
  void end(exchange& one, const error_code& ec, std::string_view text = {}) noexcept;

  repeat_rules rules_;
  exchange_queues queues_;
  pending_commands pending_;
  blocking_state blocking_;
  command_guard guard_;
  write_side writer_;
  token_input input_;
  reply_side replies_{guard_};
  push_reader pushes_;
  std::int64_t now_ = 0;  // the last time that was passed in
  bool is_at_replica_ = false;
};

}  // namespace beck::redis::detail
