// SPDX-License-Identifier: BSL-1.0
// Serving one element at a time: its pop changes the key again, which other peers may depend on.
#include "redis/memory/memory_audience.hpp"

#include <algorithm>
#include <utility>

namespace beck::redis::detail {

void memory_waits::begin(memory_peer& peer, memory_wait wait) {
  BECK_ASSERT(!peer.transaction.is_running(), "a command of a transaction began to wait");
  BECK_ASSERT(!wait.keys.empty(), "a command began to wait for no key");
  peer.wait = std::move(wait);
  peers_.push_back(peer);
}

void memory_waits::end(memory_peer& peer) noexcept {
  peers_.erase(peer);
  outbox_.note(peer);
}

void memory_waits::end_late(std::int64_t now_ns) {
  memory_peer* next = nullptr;
  for (memory_peer* at = peers_.front(); at != nullptr; at = next) {
    next = peers_.after(*at);
    if (at->wait.deadline_ns > now_ns) continue;
    at->out.null_array();
    end(*at);
  }
}

std::int64_t memory_waits::next_deadline() noexcept {
  std::int64_t next = memory_wait::never;
  for (const memory_peer& peer : peers_) next = std::min(next, peer.wait.deadline_ns);
  return next;
}

void memory_waits::note_change(memory_key&& key) {
  if (!peers_.empty()) changed_.push_back(std::move(key));
}

/// Returns the first peer that waits for a key.
memory_peer* memory_waits::find(const memory_key& key) noexcept {
  for (memory_peer& peer : peers_) {
    const std::vector<std::string>& keys = peer.wait.keys;
    if (peer.database == key.database &&
        std::find(keys.begin(), keys.end(), key.name) != keys.end())
      return &peer;
  }
  return nullptr;
}

memory_peer* memory_waits::serve(memory_store& store) {
  for (; !changed_.empty(); changed_.pop_front()) {
    const memory_key& key = changed_.front();
    memory_peer* const peer = find(key);
    auto* const list =
        peer != nullptr ? store.find_as<memory_list>(key.database, key.name) : nullptr;
    if (list == nullptr) continue;
    BECK_ASSERT(!list->empty(), "a list that has become empty was kept");
    peer->out.array(2).bulk(key.name);
    if (peer->wait.from_left) {
      peer->out.bulk(list->front());
      list->pop_front();
    } else {
      peer->out.bulk(list->back());
      list->pop_back();
    }
    store.note_change(key.database, key.name);
    store.erase_if_empty(key.database, key.name);
    end(*peer);
    return peer;
  }
  return nullptr;
}

}  // namespace beck::redis::detail
