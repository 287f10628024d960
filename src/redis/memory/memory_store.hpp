// SPDX-License-Identifier: BSL-1.0
// The keys of a memory_server, without I/O: sixteen databases, times of expiry, and the list of the
// keys that a command has changed, by which transactions, blocked clients and caches are served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {

// Values. All containers are ordered, so that replies depend on the commands alone.

using memory_hash = std::map<std::string, std::string, std::less<>>;
using memory_list = std::deque<std::string>;
using memory_set = std::set<std::string, std::less<>>;

/// A sorted set: members with scores, in the order of score and then member.
class memory_sorted {
 public:
  using scores = std::map<std::string, double, std::less<>>;
  using ranks = std::set<std::pair<double, std::string>>;

  /// Sets the score of a member, which need not exist. Requires that it is a number.
  void set(std::string_view member, double score);
  /// Removes a member. Returns whether it existed.
  bool remove(std::string_view member);
  /// Returns the score of a member; nullptr if there is none. Valid until the next change.
  const double* score(std::string_view member) const noexcept;
  /// Returns the number of members before this one. Requires that it exists.
  std::size_t rank(std::string_view member) const;
  /// Returns the members in order.
  const ranks& ordered() const noexcept { return ranks_; }
  std::size_t size() const noexcept { return scores_.size(); }
  bool empty() const noexcept { return scores_.empty(); }

 private:
  scores scores_;
  ranks ranks_;
};

using memory_value = std::variant<std::string, memory_list, memory_set, memory_sorted, memory_hash>;

/// Returns the name that TYPE has for a value.
std::string_view type_name(const memory_value& value) noexcept;

// Keys.

/// A key of one database.
struct memory_key {
  int database = 0;
  std::string name;

  friend bool operator==(const memory_key&, const memory_key&) = default;
  friend auto operator<=>(const memory_key&, const memory_key&) = default;
};

/// A key's value and its end.
struct memory_entry {
  static constexpr std::int64_t never = INT64_MAX;

  memory_value value;
  std::int64_t expires_ms = never;  ///< by the clock of memory_store::set_time()
};

/// All keys. Thread: one at a time.
class memory_store {
 public:
  static constexpr int databases = 16;
  using database = std::map<std::string, memory_entry, std::less<>>;

  /// Sets the time, in milliseconds of a steady clock.
  void set_time(std::int64_t now_ms) noexcept { now_ms_ = now_ms; }
  std::int64_t time() const noexcept { return now_ms_; }

  /// Returns the entry of a key, nullptr if there is none; one that has expired is removed. Valid
  /// until the key is removed.
  memory_entry* find(int number, std::string_view key);
  /// Returns the value of a key as a T; nullptr if it does not exist, or has another type.
  template <class T>
  T* find_as(int number, std::string_view key) {
    memory_entry* const entry = find(number, key);
    return entry != nullptr ? std::get_if<T>(&entry->value) : nullptr;
  }
  /// Sets a value without an end, instead of the one before.
  memory_entry& put(int number, std::string_view key, memory_value value);
  /// Returns the value of a key, which is made empty if it does not exist. Requires that it is a T.
  template <class T>
  T& make(int number, std::string_view key) {
    memory_entry* const entry = find(number, key);
    return std::get<T>(entry != nullptr ? entry->value : put(number, key, T()).value);
  }
  /// Removes a key. Returns whether it existed.
  bool erase(int number, std::string_view key);
  /// Removes the key if its list, set, sorted set or hash is empty.
  void erase_if_empty(int number, std::string_view key);
  /// Removes all keys of a database.
  void clear(int number);
  /// Removes all keys that have expired, and returns those of a database that are left.
  const database& live(int number);

  /// Notes that a command has changed a key; put(), erase() and clear() do that by themselves.
  void note_change(int number, std::string_view key);
  /// Returns the keys that were changed since the last call, in order, each possibly several times.
  std::vector<memory_key> take_changes() noexcept { return std::exchange(changes_, {}); }
  /// Returns whether there are changes to take.
  bool has_changes() const noexcept { return !changes_.empty(); }

 private:
  database& keys(int number) noexcept {
    BECK_ASSERT(number >= 0 && number < databases, "a database of a memory_server is from 0 to 15");
    return keys_[number];
  }

  database keys_[databases];
  std::vector<memory_key> changes_;
  std::int64_t now_ms_ = 0;
};

}  // namespace beck::redis::detail
