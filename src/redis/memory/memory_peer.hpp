// SPDX-License-Identifier: BSL-1.0
// The state of one connection of a memory_server, without I/O: its protocol and database, its
// transaction, its subscriptions, the command that it waits in, and the bytes to send to it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/reply_writer.hpp>

#include "base/transitions.hpp"
#include "redis/memory/memory_transaction.hpp"

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

enum class memory_course : std::uint8_t {
  open,     ///< commands are executed
  closing,  ///< the connection ends behind `out`
  cut,      ///< the socket is closed
};

enum class memory_course_event : std::uint8_t { close, cut };

/// In the order of memory_course_event.
inline constexpr beck::detail::transition_table<memory_course, 2> memory_course_transitions = [] {
  using beck::detail::any_of;
  using enum memory_course;
  return beck::detail::transition_table<memory_course, 2>{{
      /* close */ {closing, any_of({open})},
      /* cut   */ {cut, any_of({open, closing})},
  }};
}();

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
  /// Returns whether it is in a blocking pop.
  bool is_waiting() const noexcept { return in_waits.is_linked(); }
  /// Ends the connection behind `out`. Idempotent.
  void close() noexcept {
    if (course_ == memory_course::open)
      advance(course_, memory_course_event::close, memory_course_transitions);
  }

  long long id = 0;  ///< 0: it has not joined a memory_engine
  std::string name;
  reply_writer out;  ///< the bytes to send
  int database = 0;
  bool has_logged_in = true;
  memory_replies replies = memory_replies::on;
  memory_transaction transaction;
  memory_tracking tracking;
  memory_wait wait;                  ///< while is_waiting()
  beck::detail::list_hook in_waits;  ///< of memory_waits
  beck::detail::list_hook in_outbox;

 protected:
  ~memory_peer() = default;

  memory_course course() const noexcept { return course_; }
  /// Notes that the socket is closed. Requires that it was not before.
  void end() noexcept { advance(course_, memory_course_event::cut, memory_course_transitions); }

 private:
  memory_course course_ = memory_course::open;
  names names_[topics];
};

/// All connections, by their number.
using memory_peers = std::map<long long, memory_peer*>;

/// The peers that have got something to send, or no longer wait. Thread: one at a time.
class memory_outbox {
 public:
  /// Adds a peer, if it is not in it.
  void note(memory_peer& peer) noexcept {
    if (!peer.in_outbox.is_linked()) peers_.push_back(peer);
  }
  /// Returns the peer that was added first, and removes it; nullptr if there is none.
  memory_peer* take() noexcept { return peers_.pop_front(); }

 private:
  beck::detail::intrusive_list<memory_peer, &memory_peer::in_outbox> peers_;
};

}  // namespace beck::redis::detail
