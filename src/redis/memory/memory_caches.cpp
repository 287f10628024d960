// SPDX-License-Identifier: BSL-1.0
// A key is forgotten with its first change: the client has to read it again to be told of the next.
#include "redis/memory/memory_audience.hpp"

#include <algorithm>
#include <utility>

#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {

memory_caches::~memory_caches() {
  BECK_ASSERT(readers_.empty() && planned_.empty(),
              "the caches of a memory_server were destroyed with clients");
}

void memory_caches::note_read(memory_peer& peer, const arguments& command) {
  if (!facts_of(command).is_read_only()) return;
  for (key_cursor at(command); at.next();) {
    std::vector<memory_peer*>& readers = readers_[std::string(at.key())];
    if (std::find(readers.begin(), readers.end(), &peer) == readers.end()) readers.push_back(&peer);
  }
}

void memory_caches::note_change(std::string_view key, const memory_peer& by) {
  const auto at = readers_.find(key);
  if (at == readers_.end()) return;
  for (memory_peer* const peer : at->second)
    if (peer != &by || !peer->tracking.no_loop) planned_.push_back({peer, at->first, false});
  readers_.erase(at);
}

void memory_caches::note_flush(const memory_peers& all) {
  readers_.clear();
  for (const auto& [id, peer] : all)
    if (peer->tracking.commands != memory_tracked::none) planned_.push_back({peer, {}, true});
}

void memory_caches::leave(memory_peer& peer) {
  peer.tracking = memory_tracking();
  for (auto& [key, readers] : readers_) std::erase(readers, &peer);
  std::erase_if(readers_, [](const auto& one) { return one.second.empty(); });
  std::erase_if(planned_, [&](const invalidation& one) { return one.to == &peer; });
}

/// RESP2 has no form for these messages.
void memory_caches::send() {
  for (const invalidation& one : std::exchange(planned_, {})) {
    if (one.to->out.version() == protocol::resp2) continue;
    one.to->out.push(2).bulk("invalidate");
    if (one.is_all) {
      one.to->out.null();
    } else {
      one.to->out.array(1).bulk(one.key);
    }
    outbox_.note(*one.to);
  }
}

}  // namespace beck::redis::detail
