// SPDX-License-Identifier: BSL-1.0
// The direction out of a session: each write takes the commands that have gathered since the last
// one, in slices of the exchanges by turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "redis/session/blocking_state.hpp"
#include "redis/session/command_guard.hpp"
#include "redis/session/exchange_queues.hpp"
#include "redis/session/gathered_write.hpp"
#include "redis/session/lane_rules.hpp"
#include "redis/session/pending_commands.hpp"
#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

/// The writes of one connection after the other: takes commands from the queues, and adds them to
/// those without reply. Thread: that of the session.
class write_side {
 public:
  write_side(const session_limits& most, exchange_queues& from, pending_commands& to,
             command_guard& guard, blocking_state& blocking) noexcept
      : limits_(most), queues_(from), pending_(to), guard_(guard), blocking_(blocking) {}

  /// Returns whether there are bytes to write, or exchanges that may be written now.
  bool has_output() const noexcept;
  /// Fills `to` with the buffers of the next write: the rest of the last one, or a new one. Returns
  /// their number. Throws std::bad_alloc.
  std::size_t gather(const_buffer (&to)[gathered_write::parts_max], std::int64_t now);
  /// Takes the number of bytes that were written. Returns whether the write has ended.
  bool take_written(std::size_t bytes) noexcept;
  /// Takes the end of the connection.
  void lose() noexcept;
  /// Frees memory that an idle connection does not need.
  void trim() noexcept { write_.trim(); }

  /// Returns whether a write is under way.
  bool is_writing() const noexcept { return !write_.empty(); }
  /// Returns whether that write refers to bytes of `one`.
  bool is_lent(exchange& one) const noexcept { return write_.is_lent(one); }
  /// Returns whether the server answers the next command of a lane, whatever it is.
  bool is_answered() const noexcept { return mode_.is_on(); }

 private:
  void fill(std::int64_t now);
  bool format(exchange& one, std::int64_t now);
  bool format_slice(exchange& one, std::int64_t now);
  bool format_alone(exchange& one, std::string_view wire);
  void note_state(std::string_view wire, pending_entry& entry, std::int64_t now) noexcept;
  bool add_guard();

  const session_limits limits_;
  exchange_queues& queues_;
  pending_commands& pending_;
  command_guard& guard_;
  blocking_state& blocking_;
  gathered_write write_;
  reply_mode mode_;  // behind the last command that was formatted
};

}  // namespace beck::redis::detail
