// SPDX-License-Identifier: BSL-1.0
// The state of one connection of a memory_server, without I/O: its protocol and database, its
// transaction, its subscriptions, the command that it waits in, and the bytes to send to it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <beck/redis/reply_writer.hpp>

#include "redis/memory/memory_store.hpp"

namespace beck::redis::detail {

/// A blocking pop that waits for an element.
struct memory_wait {
  static constexpr std::int64_t never = INT64_MAX;

  std::vector<std::string> keys;
  std::int64_t deadline_ns = never;
  bool from_left = true;
};

/// The state that CLIENT REPLY sets.
enum class memory_replies : std::uint8_t {
  on,
  off,
  skip,  ///< those of the next command are dropped
};

/// A transaction that has begun, and the keys that it depends on.
struct memory_transaction {
  std::vector<std::string> commands;  ///< queued, as they are sent
  std::set<memory_key> watched;
  bool has_begun = false;
  bool is_refused = false;  ///< a command was refused, so that EXEC is
  bool is_touched = false;  ///< a watched key was changed
};

/// The commands whose keys a client's cache is told the changes of.
enum class memory_tracked : std::uint8_t {
  none,
  all,
  marked,    ///< OPTIN
  unmarked,  ///< OPTOUT
};

/// The state that CLIENT TRACKING and CLIENT CACHING set.
struct memory_tracking {
  /// Returns whether the keys of the present command are tracked.
  bool is_due() const noexcept {
    switch (commands) {
      case memory_tracked::none:
        return false;
      case memory_tracked::all:
        return true;
      case memory_tracked::marked:
        return is_marked;
      case memory_tracked::unmarked:
        return !is_marked;
    }
    return false;
  }

  memory_tracked commands = memory_tracked::none;
  bool no_loop = false;    ///< changes by the client itself are not reported
  bool is_marked = false;  ///< by CLIENT CACHING, until a command other than CLIENT has ended
};

/// A kind of names that a client can subscribe to.
enum class memory_topic : std::uint8_t { channel, pattern, shard };

/// A connection. Thread: one at a time.
struct memory_peer {
  memory_peer() = default;
  memory_peer(const memory_peer&) = delete;
  memory_peer& operator=(const memory_peer&) = delete;

  using names = std::set<std::string, std::less<>>;
  static constexpr std::size_t topics = 3;

  names& subscribed(memory_topic to) noexcept { return names_[static_cast<std::size_t>(to)]; }
  /// Returns whether only commands about subscriptions may be sent.
  bool is_listening_only() const noexcept {
    return out.version() == protocol::resp2 &&
           !(names_[0].empty() && names_[1].empty() && names_[2].empty());
  }

  long long id = 0;
  std::string name;
  reply_writer out;  ///< the bytes to send
  int database = 0;
  bool has_logged_in = true;
  bool is_closing = false;  ///< the connection ends behind `out`
  bool in_exec = false;     ///< the commands of a transaction are running
  bool is_noted = false;    ///< in memory_engine::take_noted()
  memory_replies replies = memory_replies::on;
  memory_transaction transaction;
  memory_tracking tracking;
  memory_wait wait;         ///< while `is_waiting`
  bool is_waiting = false;  ///< in a blocking pop

 protected:
  ~memory_peer() = default;

 private:
  names names_[topics];
};

}  // namespace beck::redis::detail
