// SPDX-License-Identifier: BSL-1.0
// The other connections that a command concerns: the subscribers of channels, and the clients that
// keep values in a cache (CLIENT TRACKING).
#include <algorithm>
#include <utility>

#include <beck/redis/command_table.hpp>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {

bool memory_engine::subscribe(memory_peer& peer, memory_topic kind, std::string_view name) {
  if (!peer.subscribed(kind).emplace(name).second) return false;
  channels(kind)[std::string(name)].push_back(&peer);
  return true;
}

bool memory_engine::unsubscribe(memory_peer& peer, memory_topic kind, std::string_view name) {
  memory_peer::names& own = peer.subscribed(kind);
  const auto found = own.find(name);
  if (found == own.end()) return false;
  const auto at = channels(kind).find(name);
  std::erase(at->second, &peer);
  if (at->second.empty()) channels(kind).erase(at);
  own.erase(found);
  return true;
}

void memory_engine::unsubscribe_all(memory_peer& peer) {
  for (const memory_topic kind :
       {memory_topic::channel, memory_topic::pattern, memory_topic::shard})
    while (!peer.subscribed(kind).empty())
      unsubscribe(peer, kind, std::string(*peer.subscribed(kind).begin()));
}

std::size_t memory_engine::subscribers(memory_topic kind, std::string_view name) const {
  const channel_list& all = channels_[static_cast<std::size_t>(kind)];
  const auto at = all.find(name);
  return at == all.end() ? 0 : at->second.size();
}

/// Sends a message to one peer. `pattern`: empty unless the kind is "pmessage".
void memory_engine::send_message(memory_peer& to, std::string_view kind, std::string_view pattern,
                                 std::string_view channel, std::string_view payload) {
  const bool has_pattern = kind == "pmessage";
  to.out.push(has_pattern ? 4 : 3).bulk(kind);
  if (has_pattern) to.out.bulk(pattern);
  to.out.bulk(channel).bulk(payload);
  note(to);
}

std::size_t memory_engine::publish(std::string_view channel, std::string_view payload) {
  std::size_t receivers = 0;
  const auto at = channels(memory_topic::channel).find(channel);
  if (at != channels(memory_topic::channel).end()) {
    for (memory_peer* const peer : at->second) send_message(*peer, "message", {}, channel, payload);
    receivers = at->second.size();
  }
  for (const auto& [pattern, peers] : channels(memory_topic::pattern)) {
    if (!matches_glob(pattern, channel)) continue;
    for (memory_peer* const peer : peers)
      send_message(*peer, "pmessage", pattern, channel, payload);
    receivers += peers.size();
  }
  return receivers;
}

std::size_t memory_engine::publish_sharded(std::string_view channel, std::string_view payload) {
  const auto at = channels(memory_topic::shard).find(channel);
  if (at == channels(memory_topic::shard).end()) return 0;
  for (memory_peer* const peer : at->second) send_message(*peer, "smessage", {}, channel, payload);
  return at->second.size();
}

/// Remembers the keys that a client has read.
void memory_engine::remember_keys(const memory_call& call) {
  if (!facts_of(call.command).is_read_only()) return;
  for (key_cursor at(call.command); at.next();) {
    std::vector<memory_peer*>& readers = readers_[std::string(at.key())];
    if (std::find(readers.begin(), readers.end(), &call.peer) == readers.end())
      readers.push_back(&call.peer);
  }
}

/// Plans messages to those that have read a key, which they get once.
void memory_engine::invalidate(std::string_view key, const memory_peer& by) {
  const auto at = readers_.find(key);
  if (at == readers_.end()) return;
  for (memory_peer* const peer : at->second)
    if (peer != &by || !peer->tracking.no_loop) invalidations_.push_back({peer, at->first, false});
  readers_.erase(at);
}

void memory_engine::note_flush() {
  readers_.clear();
  for (const auto& [id, peer] : peers_)
    if (peer->tracking.commands != memory_tracked::none) invalidations_.push_back({peer, {}, true});
}

void memory_engine::stop_tracking(memory_peer& peer) {
  peer.tracking = memory_tracking();
  for (auto& [key, readers] : readers_) std::erase(readers, &peer);
  std::erase_if(readers_, [](const auto& one) { return one.second.empty(); });
  std::erase_if(invalidations_, [&](const invalidation& one) { return one.to == &peer; });
}

/// Sends the planned messages, behind the reply of the command. RESP2 has no form for them.
void memory_engine::send_invalidations() {
  for (const invalidation& one : std::exchange(invalidations_, {})) {
    if (one.to->out.version() == protocol::resp2) continue;
    one.to->out.push(2).bulk("invalidate");
    if (one.is_all) {
      one.to->out.null();
    } else {
      one.to->out.array(1).bulk(one.key);
    }
    note(*one.to);
  }
}

}  // namespace beck::redis::detail
