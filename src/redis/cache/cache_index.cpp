// SPDX-License-Identifier: BSL-1.0
// Eviction is a clock: the entry in front goes, unless it was used since it was last in front; then
// it goes behind all others instead. So a hit only sets a flag. Where many in a row were used one
// of them goes: a search through all would hold up the loop.
#include "redis/cache/cache_index.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::size_t passes_max = 64;      // of used entries, in one search for room
constexpr std::size_t map_node_bytes = 64;  // of a map of this file, with its share of the buckets

/// Returns the bytes that an entry counts: its memory, and that of its keys, as if none was shared.
std::size_t counted_bytes(std::string_view wire, const kept_reply& reply) noexcept {
  std::size_t bytes = sizeof(cache_entry) + map_node_bytes + wire.size() + reply.bytes();
  for (key_cursor at{arguments(wire)}; at.next();)
    bytes += sizeof(key_use) + sizeof(cache_key) + map_node_bytes + at.key().size();
  return bytes;
}

}  // namespace

// --- a reply

void kept_reply::add(const token& next) {
  const bool goes_on = next.part == text_part::middle || next.part == text_part::last;
  BECK_ASSERT(!goes_on || !tokens_.empty(), "a part of a text was kept without its beginning");
  if (!goes_on) tokens_.push_back(next);
  token& all = tokens_.back();
  const std::size_t bytes = next.text.size() + (goes_on ? all.text.size() : 0);
  texts_.insert(texts_.end(), next.text.begin(), next.text.end());
  all.text = {texts_.data() + (texts_.size() - bytes), bytes};
  all.part = text_part::whole;
  all.is_last = next.is_last;
  const bool ends = goes_on && next.ends_text();
  if (ends && all.number == unknown_size) all.number = static_cast<std::int64_t>(bytes);
  if (next.is_last) finish();
}

/// Frees the memory that is not used, and lets the tokens refer to the copies of their texts.
void kept_reply::finish() noexcept {
  tokens_.shrink_to_fit();
  texts_.shrink_to_fit();
  const char* at = texts_.data();
  for (token& one : tokens_) {
    one.text = {at, one.text.size()};
    at += one.text.size();
  }
}

// --- the replies

cache_index::cache_index(std::size_t bytes_max, std::size_t entry_bytes_max, seeded_hash hash)
    : bytes_max_(bytes_max),
      entry_bytes_max_(std::min(bytes_max, entry_bytes_max)),
      entries_(hash),
      keys_(0, hash) {}

cache_index::~cache_index() {
  drop_all();
  BECK_ASSERT(bytes_ == 0 && keys_.empty(), "a cache has lost count of its replies");
}

bool cache_index::store(std::string_view wire, kept_reply& reply, std::int64_t now) noexcept {
  if (cache_entry* const old = find(wire)) drop(*old);
  const std::size_t bytes = counted_bytes(wire, reply);
  if (bytes > entry_bytes_max_) return false;
  make_room(bytes);
  try {
    auto made = std::make_unique<cache_entry>();
    made->wire = wire;
    made->reply = std::move(reply);
    made->came_at = now;
    made->bytes = bytes;
    add(std::move(made));
  } catch (const std::bad_alloc&) {
    if (cache_entry* const half = find(wire)) drop(*half);
    return false;
  }
  return true;
}

void cache_index::add(std::unique_ptr<cache_entry> made) {
  cache_entry& one = *made;
  std::size_t count = 0;
  for (key_cursor at{arguments(one.wire)}; at.next();) ++count;
  one.keys = std::vector<key_use>(count);
  entries_.add(one);
  static_cast<void>(made.release());  // the table and the clock have it now
  bytes_ += one.bytes;
  clock_.push_back(one);
  key_use* use = one.keys.data();
  for (key_cursor at{arguments(one.wire)}; at.next();) add_key(one, *use++, at.key());
}

void cache_index::add_key(cache_entry& to, key_use& use, std::string_view name) {
  const auto known = keys_.find(name);
  cache_key* key = known == keys_.end() ? nullptr : known->second.get();
  if (key == nullptr) {
    auto made = std::make_unique<cache_key>();
    key = made.get();
    key->name = name;
    keys_.emplace(key->name, std::move(made));
  }
  use.of = &to;
  use.key = key;
  key->uses.push_back(use);
}

/// Drops entries until `bytes` more are within the bound.
void cache_index::make_room(std::size_t bytes) noexcept {
  BECK_ASSERT(bytes <= bytes_max_, "a cache was asked for more room than it has");
  std::size_t passes = passes_max;
  while (bytes_ > bytes_max_ - bytes) {
    cache_entry& one = *clock_.front();
    if (one.is_used && passes != 0) {
      one.is_used = false;
      --passes;
      clock_.erase(one);
      clock_.push_back(one);
    } else {
      drop(one);
      ++evicted_;
    }
  }
}

void cache_index::drop(cache_entry& one) noexcept {
  BECK_ASSERT(bytes_ >= one.bytes, "a reply was dropped twice, or counts other bytes than before");
  bytes_ -= one.bytes;
  for (key_use& use : one.keys) {
    if (use.key == nullptr) continue;  // it was not added, for want of memory
    use.in_uses.unlink();
    if (use.key->uses.empty()) keys_.erase(keys_.find(use.key->name));
  }
  one.in_clock.unlink();
  entries_.erase(one);
  delete &one;
}

std::size_t cache_index::drop_all() noexcept {
  const std::size_t count = entries_.size();
  while (cache_entry* const one = clock_.front()) drop(*one);
  return count;
}

void cache_index::invalidate(const value_item& keys) noexcept {
  if (keys.is_null()) invalidated_ += drop_all();
  for (const value_item key : keys) {
    for (auto at = keys_.find(key.text()); at != keys_.end(); at = keys_.find(key.text())) {
      drop(*at->second->uses.front()->of);
      ++invalidated_;
    }
  }
}

void cache_index::count(cache_stats& to) const noexcept {
  to.entries = entries_.size();
  to.bytes = bytes_;
  to.evicted = evicted_;
  to.invalidated = invalidated_;
  to.lost = lost_;
}

}  // namespace beck::redis::detail
