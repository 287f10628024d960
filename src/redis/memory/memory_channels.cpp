// SPDX-License-Identifier: BSL-1.0
// Messages go to the subscribers of the channel first, then to those of patterns.
#include "redis/memory/memory_audience.hpp"

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {

memory_channels::~memory_channels() {
  for (const channel_list& all : channels_)
    BECK_ASSERT(all.empty(), "the channels of a memory_server were destroyed with subscribers");
}

void memory_channels::subscribe(memory_peer& peer, memory_topic kind, std::string_view name) {
  if (!peer.subscribed(kind).emplace(name).second) return;
  channels(kind)[std::string(name)].push_back(&peer);
}

void memory_channels::unsubscribe(memory_peer& peer, memory_topic kind, std::string_view name) {
  memory_peer::names& own = peer.subscribed(kind);
  const auto found = own.find(name);
  if (found == own.end()) return;
  const auto at = channels(kind).find(name);
  BECK_ASSERT(at != channels(kind).end(), "the subscribers of a channel lack one");
  std::erase(at->second, &peer);
  if (at->second.empty()) channels(kind).erase(at);
  own.erase(found);
}

void memory_channels::leave(memory_peer& peer) {
  for (const memory_topic kind :
       {memory_topic::channel, memory_topic::pattern, memory_topic::shard})
    while (!peer.subscribed(kind).empty())
      unsubscribe(peer, kind, std::string(*peer.subscribed(kind).begin()));
}

/// Returns the subscribers of a name.
const memory_channels::peer_list& memory_channels::peers(memory_topic kind,
                                                         std::string_view name) const noexcept {
  static const peer_list none;
  const channel_list& all = channels_[static_cast<std::size_t>(kind)];
  const auto at = all.find(name);
  return at == all.end() ? none : at->second;
}

std::size_t memory_channels::subscribers(memory_topic kind, std::string_view name) const {
  return peers(kind, name).size();
}

/// Sends a message. `pattern`: empty unless the kind is "pmessage".
std::size_t memory_channels::send(const peer_list& to, std::string_view kind,
                                  std::string_view pattern, std::string_view channel,
                                  std::string_view payload) {
  const bool has_pattern = kind == "pmessage";
  for (memory_peer* const peer : to) {
    peer->out.push(has_pattern ? 4 : 3).bulk(kind);
    if (has_pattern) peer->out.bulk(pattern);
    peer->out.bulk(channel).bulk(payload);
    outbox_.note(*peer);
  }
  return to.size();
}

std::size_t memory_channels::publish(std::string_view channel, std::string_view payload) {
  std::size_t receivers =
      send(peers(memory_topic::channel, channel), "message", {}, channel, payload);
  for (const auto& [pattern, subscribed] : channels(memory_topic::pattern))
    if (matches_glob(pattern, channel))
      receivers += send(subscribed, "pmessage", pattern, channel, payload);
  return receivers;
}

std::size_t memory_channels::publish_sharded(std::string_view channel, std::string_view payload) {
  return send(peers(memory_topic::shard, channel), "smessage", {}, channel, payload);
}

}  // namespace beck::redis::detail
