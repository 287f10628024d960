// SPDX-License-Identifier: BSL-1.0
// The other connections that a command of one concerns: the subscribers of channels, the clients
// that wait for an element, and those that keep values in a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <beck/redis/arguments.hpp>

#include "redis/memory/memory_peer.hpp"

namespace beck::redis::detail {

// --- channels

/// All subscriptions, besides the names that each peer has. Thread: one at a time.
class memory_channels {
 public:
  /// Makes an empty table, which adds peers that get a message to `to`.
  explicit memory_channels(memory_outbox& to) noexcept : outbox_(to) {}
  memory_channels(const memory_channels&) = delete;
  memory_channels& operator=(const memory_channels&) = delete;
  /// Requires that all peers have left.
  ~memory_channels();

  /// Subscribes a peer, once.
  void subscribe(memory_peer& peer, memory_topic kind, std::string_view name);
  /// Ends a subscription, if there is one.
  void unsubscribe(memory_peer& peer, memory_topic kind, std::string_view name);
  /// Ends all subscriptions of a peer.
  void leave(memory_peer& peer);

  /// Returns how many connections have subscribed to a name.
  std::size_t subscribers(memory_topic kind, std::string_view name) const;
  /// Sends a message to the subscribers of a channel and to those of patterns that it fits.
  /// Returns how many have got it.
  std::size_t publish(std::string_view channel, std::string_view payload);
  /// Sends a message to the subscribers of a shard's channel. Returns how many have got it.
  std::size_t publish_sharded(std::string_view channel, std::string_view payload);

 private:
  using peer_list = std::vector<memory_peer*>;
  using channel_list = std::map<std::string, peer_list, std::less<>>;

  channel_list& channels(memory_topic kind) noexcept {
    return channels_[static_cast<std::size_t>(kind)];
  }
  const peer_list& peers(memory_topic kind, std::string_view name) const noexcept;
  std::size_t send(const peer_list& to, std::string_view kind, std::string_view pattern,
                   std::string_view channel, std::string_view payload);

  memory_outbox& outbox_;
  channel_list channels_[memory_peer::topics];  // no list is empty
};

// --- blocking pops

/// All peers that wait. Thread: one at a time.
class memory_waits {
 public:
  /// Makes an empty list, which adds peers whose wait ends to `to`.
  explicit memory_waits(memory_outbox& to) noexcept : outbox_(to) {}

  /// Lets a peer wait. Requires that it does not, and is not in a transaction.
  void begin(memory_peer& peer, memory_wait wait);
  /// Ends a wait; the reply has been written. Requires that the peer waits.
  void end(memory_peer& peer) noexcept;
  /// Ends the waits that are over, each with a null.
  void end_late(std::int64_t now_ns);
  /// Returns when the first wait is over; memory_wait::never if none will be.
  std::int64_t next_deadline() noexcept;

  /// Notes that a key was changed, in which elements may be now.
  void note_change(memory_key&& key);
  /// Passes one element to the first peer that waits for a changed key, and ends its wait. Returns
  /// the peer, whose pop is a change of `store`; nullptr if there is nothing more to pass.
  memory_peer* serve(memory_store& store);

 private:
  memory_peer* find(const memory_key& key) noexcept;

  memory_outbox& outbox_;
  beck::detail::intrusive_list<memory_peer, &memory_peer::in_waits> peers_;
  std::deque<memory_key> changed_;  // not all are lists; empty if no peer waits
};

// --- CLIENT TRACKING

/// All tracked keys. Thread: one at a time.
class memory_caches {
 public:
  /// Makes an empty table, which adds peers that get a message to `to`.
  explicit memory_caches(memory_outbox& to) noexcept : outbox_(to) {}
  memory_caches(const memory_caches&) = delete;
  memory_caches& operator=(const memory_caches&) = delete;
  /// Requires that all peers have left.
  ~memory_caches();

  /// Remembers the keys that a command has read, for the peer that sent it.
  void note_read(memory_peer& peer, const arguments& command);
  /// Plans messages to those that have read a key, which they get once. `by`: the peer that has
  /// changed it.
  void note_change(std::string_view key, const memory_peer& by);
  /// Plans messages to all caches that all keys may have changed.
  void note_flush(const memory_peers& all);
  /// Sends the planned messages, behind the reply of the command.
  void send();
  /// Ends the tracking of a peer, and drops the messages to it.
  void leave(memory_peer& peer);

 private:
  struct invalidation {
    memory_peer* to;
    std::string key;
    bool is_all;
  };

  memory_outbox& outbox_;
  std::map<std::string, std::vector<memory_peer*>, std::less<>> readers_;  // no list is empty
  std::vector<invalidation> planned_;
};

}  // namespace beck::redis::detail
