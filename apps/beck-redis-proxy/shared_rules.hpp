// SPDX-License-Identifier: BSL-1.0
//
// Which commands may go over a connection that many clients share.
#pragma once

#include <beck/redis/arguments.hpp>
#include <cstdint>

namespace beck_redis_proxy {

/// Why a client gets a connection of its own.
enum class move_reason : std::uint8_t {
  none,     ///< it does not
  state,    ///< a command that changes its connection, blocks it, or has to pass others
  unknown,  ///< a command that is not in the table, such as one of a module
  bytes,    ///< no command of the usual form, or one that is too large to be shared
};

/// Returns whether the proxy may answer a command, instead of a connection of the client's own: its
/// words, and not only these, decide. See shared_client.
bool may_be_answered(const beck::redis::arguments& command) noexcept;

/// Returns the reason for a command that cannot be shared; none for all others.
move_reason reason_to_move(const beck::redis::arguments& command) noexcept;

/// Returns whether a command waits until replicas have the earlier writes of its connection.
bool waits_for_replicas(const beck::redis::arguments& command) noexcept;

}  // namespace beck_redis_proxy
