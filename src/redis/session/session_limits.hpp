// SPDX-License-Identifier: BSL-1.0
// The bounds of a session, which its parts share.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace beck::redis::detail
