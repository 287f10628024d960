// SPDX-License-Identifier: BSL-1.0
// The direction out of a session: each write takes the commands that have gathered since the last
// one, in slices of the exchanges by turns. They are kept, with their places in the stream of
// bytes, until the read side has their replies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/base/assert.hpp>

#include "redis/session/blocking_state.hpp"
#include "redis/session/command_guard.hpp"
#include "redis/session/exchange_queues.hpp"
#include "redis/session/gathered_write.hpp"
#include "redis/session/lane_rules.hpp"
#include "redis/session/pending_ring.hpp"
#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

/// The writes of one connection after the other, and the commands of them that have no reply.
/// Thread: that of the session.
class write_side {
 public:
  write_side(const session_limits& most, exchange_queues& from, command_guard& guard,
             blocking_state& blocking) noexcept
      : limits_(most), queues_(from), guard_(guard), blocking_(blocking) {}

  /// Begins a connection. Requires that no command is without a reply, and no write under way.
  void begin() noexcept;
  /// Takes the end of the connection: the commands without reply are dropped.
  void lose() noexcept;
  /// Frees memory that an idle connection does not need.
  void trim() noexcept;

  // --- writes

  /// Returns whether there are bytes to write, or exchanges that may be written now.
  bool has_output() const noexcept;
  /// Fills `to` with the buffers of the next write: the rest of the last one, or the commands that
  /// have gathered meanwhile. Returns their number; 0: there is nothing to write. They are valid
  /// until wrote(). Throws std::bad_alloc; the connection must be closed then.
  std::size_t gather(const_buffer (&to)[gathered_write::parts_max], std::int64_t now);
  /// Takes the number of bytes of gather()'s that were written. done() of exchanges is called
  /// inside.
  void wrote(std::size_t bytes) noexcept;

  // --- replies, in the order of the commands

  /// Returns the commands whose replies come next; nullptr: the server has nothing to answer.
  const pending_entry* next_answered() noexcept;
  /// Returns the exchange whose command is first in line; nullptr: there is none, or its reply is
  /// dropped.
  exchange* first() noexcept { return ring_.empty() ? nullptr : ring_.front().of; }
  /// Takes the end of the next reply. Returns the exchange of its command, as first().
  exchange* end_reply() noexcept;
  /// Ends the commands that are first in line, were written, and will not be answered: each is read
  /// as a null. Requires that no part of a reply has come.
  void end_silences() noexcept {
    while (is_silence_due()) end_silence();
  }

  // --- ends

  /// Ends an exchange that is in no list: the replies that have not come get the error. done() is
  /// called inside, or, if a write refers to its bytes, at the end of that write.
  void end(exchange& one, const error_code& ec, std::string_view text = {}) noexcept;
  /// Takes an exchange away from its replies: they are dropped.
  void detach(exchange& one) noexcept;
  /// Takes the commands back that the kernel has not taken whole, but for those that the server has
  /// answered too early.
  void take_back_unsent() noexcept;
  /// Takes the first exchange with all its commands; nullptr: there is none.
  exchange* take_exchange() noexcept;

  // --- observers

  /// Returns how many commands have no reply.
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  /// Returns whether the last commands are those of `one`.
  bool is_last(const exchange& one) noexcept {
    return !ring_.empty() && ring_.at(ring_.next_ticket() - 1).of == &one;
  }
  /// Returns whether a reply is awaited by an exchange.
  bool has_exchanges() noexcept;
  /// Returns whether all commands that were sent whole are answered.
  bool is_answered() noexcept;
  /// Returns whether the server might not answer the next command: behind CLIENT REPLY.
  bool is_silenced() const noexcept { return !mode_.is_on(); }
  /// Returns whether no answer is due, and the next command gets none.
  bool is_muted() noexcept { return is_silenced() && next_answered() == nullptr; }

 private:
  void fill(std::int64_t now);
  bool format(exchange& one, std::int64_t now);
  bool format_slice(exchange& one, std::int64_t now);
  bool format_alone(exchange& one, std::string_view wire);
  void note_state(std::string_view wire, pending_entry& entry, std::int64_t now) noexcept;
  pending_entry next_entry(exchange& one) const noexcept;
  void add(pending_entry& entry, const command_cursor& behind) noexcept;
  bool add_guard();
  bool is_silence_due() noexcept {
    return !ring_.empty() && ring_.front().is_silent && ring_.front().end <= written_bytes_;
  }
  void end_silence() noexcept;
  std::uint32_t unsent_commands(const pending_entry& entry) const noexcept;

  const session_limits limits_;
  exchange_queues& queues_;
  command_guard& guard_;
  blocking_state& blocking_;
  gathered_write write_;
  reply_mode mode_;    // behind the last command that was formatted
  pending_ring ring_;  // the commands that were put into writes and have no reply
  std::uint32_t in_flight_ = 0;
  std::uint64_t formatted_bytes_ = 0;  // of this connection
  std::uint64_t written_bytes_ = 0;
};

inline const pending_entry* write_side::next_answered() noexcept {
  return ring_.empty() || ring_.front().is_silent ? nullptr : &ring_.front();
}

inline exchange* write_side::end_reply() noexcept {
  BECK_ASSERT(in_flight_ != 0, "the end of a reply that was not awaited");
  pending_entry& first = ring_.front();
  exchange* const one = first.of;
  if (first.is_guard) guard_.note_answer();
  --in_flight_;
  if (--first.left == 0) ring_.pop();
  return one;
}

}  // namespace beck::redis::detail
