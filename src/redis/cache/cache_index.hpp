// SPDX-License-Identifier: BSL-1.0
// The replies that a cache holds: found by the bytes of their command, dropped by their keys, and
// bounded in bytes. Without I/O and without clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/cache.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>

#include "redis/cache/wire_table.hpp"

namespace beck::redis::detail {

/// The tokens of a reply, with copies of their texts: it can be read any number of times, into any
/// type, as if its bytes had just come. Moving it keeps the texts where they are. Thread: one
/// at a time.
class kept_reply {
 public:
  void clear() noexcept {
    tokens_.clear();
    texts_.clear();
  }
  /// Adds the next token of the reply. The parts of a text become one token: their number depends
  /// on how the bytes have arrived. Throws std::bad_alloc.
  void add(const token& next);
  /// Reads the reply. Requires that it is whole.
  void read(reply_reader& with) const noexcept {
    BECK_ASSERT(!tokens_.empty() && tokens_.back().is_last, "a reply was read that is not whole");
    for (const token& one : tokens_) with.feed(one);
  }
  /// Returns the bytes of memory that it holds.
  std::size_t bytes() const noexcept {
    return tokens_.capacity() * sizeof(token) + texts_.capacity();
  }

 private:
  void finish() noexcept;

  std::vector<token> tokens_;
  std::vector<char> texts_;
};

struct cache_entry;
struct cache_key;

/// A key of an entry.
struct key_use {
  beck::detail::list_hook in_uses;
  cache_entry* of = nullptr;
  cache_key* key = nullptr;
};

/// A key, and the entries whose commands name it.
struct cache_key {
  std::string name;
  beck::detail::intrusive_list<key_use, &key_use::in_uses> uses;
};

/// A reply that is held.
struct cache_entry {
  std::string wire;  ///< of the command
  kept_reply reply;
  std::int64_t came_at = 0;
  std::vector<key_use> keys;
  std::size_t bytes = 0;
  bool is_used = false;  ///< since the last search for room came by
  std::uint64_t hash = 0;
  cache_entry* next_in_table = nullptr;
  beck::detail::list_hook in_clock;
};

/// The replies of a cache. Thread: one at a time.
class cache_index {
 public:
  /// `hash`: with a seed of its own.
  cache_index(std::size_t bytes_max, std::size_t entry_bytes_max, seeded_hash hash);
  ~cache_index();
  cache_index(const cache_index&) = delete;
  cache_index& operator=(const cache_index&) = delete;

  /// Returns the entry of a command; nullptr if there is none.
  cache_entry* find(std::string_view wire) noexcept { return entries_.find(wire); }
  /// Takes a reply, in place of the one before. Returns false, and holds neither, if it is too
  /// large or there is no memory.
  bool store(std::string_view wire, kept_reply& reply, std::int64_t now) noexcept;
  /// Drops the replies to commands with these keys: the array of an "invalidate"; a null: all.
  void invalidate(const value_item& keys) noexcept;
  /// Drops all replies: the connection is lost.
  void lose_all() noexcept { lost_ += drop_all(); }

  /// Adds the counters of the index.
  void count(cache_stats& to) const noexcept;

 private:
  void add(std::unique_ptr<cache_entry> made);
  void add_key(cache_entry& to, key_use& use, std::string_view name);
  void make_room(std::size_t bytes) noexcept;
  void drop(cache_entry& one) noexcept;
  std::size_t drop_all() noexcept;

  const std::size_t bytes_max_;
  const std::size_t entry_bytes_max_;
  wire_table<cache_entry> entries_;
  std::unordered_map<std::string_view, std::unique_ptr<cache_key>, seeded_hash> keys_;
  beck::detail::intrusive_list<cache_entry, &cache_entry::in_clock> clock_;
  std::size_t bytes_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint64_t invalidated_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace beck::redis::detail
