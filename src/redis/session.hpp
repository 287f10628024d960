// SPDX-License-Identifier: BSL-1.0
// The work of a client on its connections, without I/O: bytes and times come in, bytes to be
// written and completions come out. A session outlives its connections, and carries the exchanges
// from one to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>

#include "redis/lane_rules.hpp"
#include "redis/pending_ring.hpp"

namespace beck::redis::detail {

/// Bounds of a session.
struct session_limits {
  std::uint32_t in_flight = 16'384;           ///< commands without reply; further ones wait
  std::uint32_t slice_commands = 256;         ///< of one exchange, before others get their turn
  std::size_t slice_bytes = 65'536;           ///< the same in bytes
  std::size_t write_bytes = 65'536;           ///< a write is not begun larger, but for one slice
  std::size_t gather_bytes = 16'384;          ///< from here on bytes are not copied into the write
  std::uint32_t attempts = 4;                 ///< connections that an exchange may be lost with
  std::int64_t refused_for = 10'000'000'000;  ///< nanoseconds: commands that a server refuses for
                                              ///< now are sent again so long
  parse_limits replies;
  std::uint32_t guard = 0;       ///< an ECHO behind so many commands; 0: none
  std::uint64_t guard_seed = 0;  ///< of their texts
  bool is_lane = false;  ///< the connection may have any state: CLIENT REPLY, blocking commands
  /// A server that says it is a replica has not run the command, and the next connection leads to
  /// another server.
  bool leaves_replicas = false;
};

/// Returns whether a server that answers so has not run the command, and may do so soon.
bool is_refused_for_now(const error_code& ec) noexcept;
/// Returns whether the server answers so instead of running a command. An earlier attempt may have
/// run then.
bool is_refusal(const error_code& ec) noexcept;

/// Returns the text of the ECHO with this number: one that no value has by chance.
std::array<char, 16> guard_text(std::uint64_t seed, std::uint64_t number) noexcept;

/// Returns the error of a reply that is over a limit of the protocol. It says nothing about the
/// other replies of its connection.
bool is_limit(const error_code& ec) noexcept;

/// Receives the pushes of a server.
class push_sink {
 public:
  /// Takes a push, between two replies or inside of one. Must not call the session. An
  /// exception ends the connection.
  virtual void take_push(const value& message) = 0;
  /// Takes a push that was over its limit: the elements of `message` end before the one that was
  /// too large, and a null is in its place. As take_push().
  virtual void take_cut_push(const value& message) { static_cast<void>(message); }

 protected:
  ~push_sink() = default;
};

/// The work of one connection after the other. Times are nanoseconds of any one steady clock.
/// Thread: one at a time.
class session {
 public:
  /// The number of buffers that gather() fills.
  static constexpr std::size_t parts_max = 16;

  explicit session(const session_limits& most, push_sink* pushes) noexcept;
  /// Requires that nothing is under way, see drop_all().
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // exchanges

  /// Takes an exchange behind all others.
  void submit(exchange& one, std::int64_t now) noexcept;
  /// Takes an exchange that begins a connection, or subscribes: it goes before all others, which
  /// wait until set_ready(), and ends with its connection.
  void greet(exchange& one, std::int64_t now) noexcept;
  /// Ends the greeting: the exchanges may be sent.
  void set_ready() noexcept { is_ready_ = true; }
  /// Sets session_limits::leaves_replicas from now on.
  void leave_replicas(bool leaves) noexcept { limits_.leaves_replicas = leaves; }
  /// Ends an exchange with `why`. Replies to commands that were sent are dropped. done() is
  /// called inside, or, if a write refers to its bytes, at the end of that write.
  void cancel(exchange& one, const error_code& why, std::string_view text = {}) noexcept;
  /// Forgets an exchange that is destroyed before its end, without done(). Requires that no write
  /// is under way.
  void forget(exchange& one) noexcept;
  /// Drops all exchanges: the context is being destroyed.
  void drop_all() noexcept;
  /// Ends, with `why`, the exchanges that wait to be sent for the first time or again, and have
  /// waited since a time before `before`: since they came, or since the last connection that was
  /// ready was lost, whichever is later. `text`: explains it. Call it while no connection is ready.
  void end_waiting(const error_code& why, std::int64_t before, std::string_view text = {}) noexcept;
  /// Returns since when the first exchange of those that wait has waited, see end_waiting().
  /// Requires is_waiting().
  std::int64_t waiting_since() noexcept { return waits_since(*queue_.front()); }
  /// Returns when wake() is due: exchanges whose commands the server has refused for now, as while
  /// it loads its data, wait until then. INT64_MAX: there are none.
  std::int64_t wake_at() const noexcept { return refused_.empty() ? INT64_MAX : wake_at_; }
  /// Lets those exchanges be sent again, if it is time.
  void wake(std::int64_t now) noexcept;
  /// Returns whether exchanges wait to be sent.
  bool is_waiting() const noexcept { return !queue_.empty(); }
  /// Returns how many exchanges wait to be sent.
  std::size_t waiting() const noexcept { return waiting_; }
  /// Returns how many commands were written and have no reply.
  std::uint32_t in_flight() const noexcept { return in_flight_; }

  // lanes: commands are sent in the order of their exchanges, and none behind one that blocks

  /// Lets the reply to a blocking command that was written decide how its exchange ends: see
  /// is_unblocked(). Other exchanges wait until set_ready(), but for greetings. Returns false, and
  /// does nothing, if the exchange does not wait in such a command.
  bool stop(exchange& one, const error_code& why) noexcept;
  /// Returns whether an exchange was stopped and has not ended.
  bool is_stopping() const noexcept { return stopping_ != nullptr; }
  /// Returns whether the server has answered to a stopped exchange that it has ended the wait.
  bool is_unblocked() const noexcept { return stopping_ != nullptr && is_unblocked_; }
  /// Ends that exchange with the `why` of stop(). Requires is_unblocked().
  void end_unblocked() noexcept;
  /// Returns whether a blocking command was written and is not answered.
  bool is_blocked() const noexcept { return is_blocked_; }
  /// Returns until when the server may be silent because of a blocking command: for the time of its
  /// own argument, from its formatting or the reply before it. INT64_MIN: there is none.
  std::int64_t blocked_until() const noexcept;
  /// Returns whether no answer is due, and the next command gets none: behind CLIENT REPLY.
  bool is_muted() noexcept {
    return !mode_.is_on() && (pending_.empty() || pending_.front().is_silent);
  }
  /// Lets exchanges wait for a greeting again, behind which the connection is as new. Returns
  /// false, and does nothing, if exchanges are under way, or a greeting would not be answered.
  bool begin_again() noexcept;

  // connections

  /// Begins a new connection.
  void connected(std::int64_t now) noexcept;
  /// Sets the version of the protocol. Requires that no reply has begun.
  void use(protocol version) noexcept { parser_.use(version); }
  /// Takes the end of the connection: exchanges that may be sent again wait for the next one, in
  /// front of all others, and the rest ends with `cause`. If that is a protocol_error, no command
  /// is sent again; of a limit, only that of the reply is not. Requires that no write is under way.
  void lost(const error_code& cause, std::int64_t now) noexcept;

  // output

  /// Returns whether there are bytes to write, or exchanges that may be written now.
  bool has_output() noexcept;
  /// Fills `to` with the buffers of the next write: the rest of the last one, or the commands that
  /// have gathered meanwhile. Returns their number; 0: there is nothing to write. They are valid
  /// until wrote(). Throws std::bad_alloc; the connection must be closed then.
  std::size_t gather(const_buffer (&to)[parts_max]);
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
  bool is_answered() noexcept;
  /// Returns when bytes of a reply have last come, or when the connection began: a server that only
  /// pushes does not answer.
  std::int64_t heard_at() const noexcept { return heard_at_; }
  /// Returns the place in the stream where the last error of received() is; of
  /// protocol_error::unexpected_reply a place behind the first byte of that reply.
  std::uint64_t error_offset() const noexcept { return error_offset_; }

 private:
  using exchange_list = beck::detail::intrusive_list<exchange, &exchange::hook_>;

  /// A part of a write: bytes that were copied, or those of an exchange.
  struct segment {
    const char* lent;    // nullptr: at `offset` of copied_
    std::size_t offset;  // of the first byte that is not written
    std::size_t bytes;
  };

  static constexpr std::size_t tokens_max = 64;

  void begin(exchange& one, std::int64_t now) noexcept;
  // output
  void fill();
  bool format(exchange& one);
  void note_formatted(const pending_entry& entry) noexcept;
  void note_state(std::string_view wire, pending_entry& entry) noexcept;
  bool add_bytes(std::string_view wire, exchange* lender);
  bool is_guard_due() const noexcept;
  bool add_guard();
  // input
  void keep(std::string_view bytes);
  error_code take(const token& next);
  void take_of_push(const token& next);
  bool is_guarded(const token& next) const noexcept;
  void end_push();
  void end_reply() noexcept;
  void take_reply(exchange& one) noexcept;
  void end_silent() noexcept;
  static bool is_out_of_step(const pending_entry& entry, const token& last) noexcept;
  bool may_run_later(const error_code& ec) const noexcept;
  bool is_aborted_for_now(exchange& one) const noexcept;
  bool keep_refused(exchange& one) noexcept;
  // ends
  void take_out(exchange& one) noexcept;
  void detach(exchange& one) noexcept;
  void end(exchange& one, const error_code& ec, std::string_view text = {}) noexcept;
  void call_done(exchange& one, const error_code& ec) noexcept;
  void end_held() noexcept;
  std::uint32_t unsent_commands(const pending_entry& entry) const noexcept;
  static void restart_whole(exchange& one) noexcept;
  exchange* offender(const error_code& cause) noexcept;
  bool may_repeat(const exchange& one, const error_code& cause) const noexcept;
  std::int64_t waits_since(const exchange& one) const noexcept {
    return one.begun_at_ > down_since_ ? one.begun_at_ : down_since_;
  }
  bool is_lent(const exchange& one) const noexcept {
    return segment_count_ != 0 && one.lent_to_ == write_number_;
  }

  session_limits limits_;
  push_sink* pushes_;
  exchange_list greeting_;
  exchange_list queue_;
  exchange_list refused_;    // for now; sent again at wake_at_
  exchange_list held_;       // ended, but a write refers to their bytes
  std::size_t waiting_ = 0;  // in queue_ and refused_
  std::int64_t wake_at_ = 0;
  std::int64_t wake_pause_ = 0;  // the last one
  bool is_ready_ = false;
  // of a lane
  exchange* stopping_ = nullptr;
  error_code stop_reason_;
  bool is_unblocked_ = false;
  reply_mode mode_;              // behind the last command that was formatted
  bool was_silent_ = false;      // that command is not answered
  bool is_blocked_ = false;      // that command blocks
  std::int64_t blocked_at_ = 0;  // when it was formatted
  std::int64_t blocked_for_ = 0;
  std::int64_t down_since_ = INT64_MIN;  // when a ready connection was last lost
  // output
  byte_store copied_;
  segment segments_[parts_max] = {};
  std::size_t segment_ = 0;  // the first one that is not written
  std::size_t segment_count_ = 0;
  std::uint64_t write_number_ = 0;
  std::uint64_t formatted_bytes_ = 0;  // of this connection
  std::uint64_t written_bytes_ = 0;
  std::uint32_t unguarded_ = 0;  // commands behind the last guard
  std::uint64_t guards_ = 0;     // that were added, on all connections
  // input
  pending_ring pending_;
  std::uint32_t in_flight_ = 0;
  reply_parser parser_;
  token tokens_[tokens_max];
  reply_reader reader_;
  reply_status* status_ = nullptr;  // of the reply that is being read
  bool is_at_replica_ = false;
  bool in_reply_ = false;  // the front entry's next reply has begun
  std::uint64_t guards_passed_ = 0;
  flat_buffer rest_;  // bytes that are no whole token yet
  value push_;
  std::size_t push_bytes_ = 0;  // of that push so far
  bool in_push_ = false;        // it has begun
  bool is_push_cut_ = false;    // it is over its limit
  std::int64_t heard_at_ = 0;
  std::int64_t now_ = 0;  // the last time that was passed in
  std::uint64_t error_offset_ = 0;
};

}  // namespace beck::redis::detail
