// SPDX-License-Identifier: BSL-1.0
// The bounds of a session, and the rules by which commands are sent again: those of a connection
// that was lost, and those that the server has refused for now.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/redis/error.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/resp3.hpp>

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
/// Returns the error of a reply that is over a limit of the protocol. It says nothing about the
/// other replies of its connection.
bool is_limit(const error_code& ec) noexcept;

/// The rules of a session. Thread: that of the session.
class repeat_rules {
 public:
  explicit repeat_rules(const session_limits& most) noexcept
      : attempts_(most.attempts),
        refused_for_(most.refused_for),
        leaves_replicas_(most.leaves_replicas) {}

  /// Sets session_limits::leaves_replicas from now on.
  void leave_replicas(bool leaves) noexcept { leaves_replicas_ = leaves; }

  /// Returns whether an exchange may go over to the next connection behind the `cause` of a loss.
  bool may_repeat(exchange& one, const error_code& cause) const noexcept;
  /// Returns the first one of the last commands, which were refused for now. Commands behind which
  /// another one has run are not among them, and those of a unit are so only together. commands():
  /// there are none. Requires that all replies have come.
  std::uint32_t refused_from(exchange& one) const noexcept;
  /// Returns whether an exchange with such commands may be sent again later.
  bool may_send_later(exchange& one, std::int64_t now) const noexcept;
  /// Returns whether a server that answers so is a replica, and is to be left.
  bool is_of_replica(const error_code& ec) const noexcept {
    return leaves_replicas_ && (ec == error::readonly || ec == error::masterdown);
  }

 private:
  bool may_run_later(const error_code& ec) const noexcept;
  bool is_aborted_for_now(exchange& one) const noexcept;

  const std::uint32_t attempts_;
  const std::int64_t refused_for_;
  bool leaves_replicas_;
};

}  // namespace beck::redis::detail
